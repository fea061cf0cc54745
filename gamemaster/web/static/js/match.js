// A match: followed while it is played, and gone through step by step.

import { analysisList } from "./analysis.js";
import { clicksOf, drawArrows, showState, slide, turning } from "./board.js";
import { Countdown } from "./clock.js";
import { byId, get, localTimes, make, post, postLines } from "./lib.js";
import { valuePlot } from "./plot.js";
import { sounding, soundStep } from "./sound.js";
import { follow } from "./stream.js";
import { moveRow, movesOf, showPlayers, statusChip } from "./table.js";
import { Thoughts } from "./thoughts.js";
import { roleColour, roleName, translate } from "./words.js";

const root = byId("match"), board = byId("board"), slider = byId("slider"), at = byId("at");
const rows = document.querySelector("#moves tbody");
const api = root.dataset.api;
const countdown = new Countdown(byId("clock"), byId("clock-bar"));
const states = new Map(); // step → state
const roles = [...document.querySelectorAll("#players li")].map((item) => item.dataset.role);
let step = Number(root.dataset.step), last = Number(slider.max), isLive = root.hasAttribute("data-live");
let follows = isLive && step === last;
let wantedStep = step, gone = step; // gone: the step to which the last arrows led
const isHidden = root.hasAttribute("data-hidden"); // until the match is over
const values = new Map(); // step → role → expected goal value
let known = 0; // steps that this page was told, with all that is said of them
const thoughts = new Thoughts(byId("thoughts"), roles, (number) => go(number));

async function stateAt(number) {
  if (!states.has(number)) {
    const state = await get(`${api}/states/${number}`);
    states.set(number, state);
    if (states.size > 120) states.delete(states.keys().next().value);
  }
  return states.get(number);
}

/** Shows a step, and makes the address one of it. */
async function go(number, { push = true } = {}) {
  wantedStep = Math.max(0, Math.min(last, number));
  const wanted = wantedStep;
  board.classList.add("is-old");
  try {
    const state = await stateAt(wanted);
    if (wanted !== wantedStep) return;
    step = wanted;
    showState(board, state);
    turning(byId("turn"), board);
    showLast().catch(() => {});
    byId("facts").textContent = state.facts.join("\n");
  } catch (problem) {
    if (wanted !== wantedStep) return;
    step = wanted;
    board.replaceChildren(make("p", { class: isHidden ? "muted" : "note bad" }, problem.message));
  }
  board.classList.remove("is-old");
  follows = isLive && step === last;
  if (push) history.replaceState(null, "", `?step=${step}`);
  showPlace();
  if (step < last) stateAt(step + 1).catch(() => {});
}

/** Shows the moves that led to the state as arrows. */
async function showLast() {
  const shown = step;
  if (!shown) {
    gone = 0;
    return;
  }
  const before = await stateAt(shown - 1);
  if (shown !== step || !rows.children[shown]) return;
  const clicks = clicksOf(before, movesOf(rows.children[shown], roles));
  drawArrows(board, clicks, "last");
  if (shown === gone + 1) {
    slide(board, clicks);
    soundStep();
  }
  gone = shown;
}

function showPlace() {
  slider.max = String(last);
  slider.value = String(step);
  at.textContent = `${step} of ${last}`;
  const targets = { first: 0, previous: Math.max(0, step - 1), next: Math.min(last, step + 1), last };
  for (const link of document.querySelectorAll("[data-go]")) link.href = `?step=${targets[link.dataset.go]}`;
  byId("branch").href = `/play?match=${encodeURIComponent(root.dataset.match)}&step=${step}`;
  for (const row of rows.children) {
    const isHere = Number(row.dataset.step) === step;
    if (isHere) row.setAttribute("aria-current", "step");
    else row.removeAttribute("aria-current");
    if (isHere) keepInView(row);
  }
  byId("found").replaceChildren();
  thoughts.show(step, last);
  if (values.size) showValues();
}

/** Scrolls the list of moves, not the page. */
function keepInView(row) {
  const box = byId("moves");
  const above = row.offsetTop - 40, below = row.offsetTop + row.offsetHeight - box.clientHeight + 8;
  if (box.scrollTop > above) box.scrollTop = Math.max(0, above);
  else if (box.scrollTop < below) box.scrollTop = below;
}

function addSteps(joints) {
  thoughts.note(joints);
  for (const joint of joints) {
    if (joint.number === known) known += 1;
    if (rows.children.length === joint.number + 1) rows.append(moveRow(roles, joint, (number) => `?step=${number}`));
  }
}

function showHead(match) {
  showPlayers(byId("players"), match);
  byId("status").replaceChildren(statusChip(match));
  byId("reason").hidden = !match.reason;
  byId("reason").firstElementChild.textContent = match.reason || "";
}

function showClock(clock, match = null) {
  const isTicking = clock.phase !== "over";
  byId("ticking").hidden = !isTicking;
  if (!isTicking) {
    countdown.stop();
    for (const item of document.querySelectorAll("#players li")) item.removeAttribute("data-thinking");
    return;
  }
  countdown.run(clock.remaining, clock.total);
  byId("waiting").textContent = clock.phase === "start" ? "waiting for the players to be ready" : `waiting for ${clock.waiting.map(roleName).join(", ") || "the game master"}`;
  const waiting = new Set(clock.waiting);
  for (const item of document.querySelectorAll("#players li")) item.toggleAttribute("data-thinking", waiting.has(item.dataset.role));
}

/** The match as it is now, with the steps that are new here. */
async function reload() {
  const match = await get(`${api}?first=${known}`);
  if (match.steps < last) return isLive; // told of more already
  const isNew = match.steps > last;
  addSteps(match.joint_moves);
  last = match.steps;
  isLive = match.is_live;
  showHead(match);
  showClock(match.clock);
  if (follows && isNew) await go(last, { push: false });
  else showPlace();
  if (!isLive) ended();
  return isLive;
}

function stepped(event) {
  showHead({ ...event.match, clock: event.clock });
  if (event.step) {
    if (event.step.number + 1 > rows.children.length) return reload();
    addSteps([event.step]);
  }
  if (event.state) states.set(event.number, event.state);
  if (event.number > last) last = event.number;
  if (event.clock) showClock(event.clock);
  if (values.size && !byId("evaluate").disabled) byId("evaluate").click(); // asked for once, it is wanted for the rest too
  return follows && event.number === last ? go(last, { push: false }) : showPlace(); // the match may be further already
}

function ended() {
  isLive = false;
  follows = false;
  countdown.stop();
  byId("ticking").hidden = true;
  byId("verify").hidden = isHidden;
  for (const name of ["end", "takes-part"]) if (byId(name)) byId(name).hidden = true;
}

if (isLive) {
  const stop = follow(`${api}/events`, {
    step: stepped,
    start: (event) => { showHead({ ...event.match, clock: event.clock }); showClock(event.clock); },
    clock: showClock,
    end: async (event) => { stop(); known = 0; showHead({ ...event.match, clock: event.clock }); await reload().catch(() => {}); ended(); if (isHidden) location.reload(); },
  }, reload);
}

// Going through.

for (const waiting of document.querySelectorAll("[data-waits]")) waiting.removeAttribute("data-waits");
slider.addEventListener("input", () => go(Number(slider.value)));
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='?step=']");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  go(Number(new URL(link.href).searchParams.get("step")));
});
document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  const target = { ArrowLeft: wantedStep - 1, ArrowRight: wantedStep + 1, Home: 0, End: last }[event.key];
  if (target === undefined) return;
  event.preventDefault();
  go(target);
});

// What can be asked for.

const wantedRole = () => byId("for-role").value;

byId("analyse").addEventListener("click", async (event) => {
  const button = event.currentTarget, wanted = step, role = wantedRole();
  button.disabled = true;
  const show = async (found) => {
    if (wanted !== step) return;
    byId("found").replaceChildren(analysisList(found));
    const state = await stateAt(wanted), best = found.lines[0]?.moves[0];
    if (wanted === step) drawArrows(board, best ? clicksOf(state, { [role]: best[role] }) : [], "hint");
  };
  byId("found").replaceChildren(make("p", { class: "muted" }, "Searching …"));
  try {
    await show(await postLines(`${api}/states/${wanted}/analysis`, { seconds: 3, role, lines: 3 }, show));
  } catch (problem) {
    byId("found").replaceChildren(make("p", { class: "note bad" }, problem.message));
  }
  button.disabled = false;
});

function showValues() {
  const series = roles.filter((role) => [...values.values()].some((goals) => goals[role] !== undefined))
    .map((role) => ({ name: roleName(role), colour: roleColour(role), values: Array.from({ length: last + 1 }, (_, number) => values.get(number)?.[role] ?? null) }));
  byId("values").replaceChildren(...valuePlot(series, last, step, go));
}

byId("evaluate").addEventListener("click", async (event) => {
  const button = event.currentTarget, role = wantedRole();
  button.disabled = true;
  try {
    const many = Math.min(last, 60);
    for (let count = 0; count <= many; count += 1) {
      const number = many ? Math.round((last * count) / many) : 0;
      if (values.has(number)) continue;
      const state = await stateAt(number);
      const goals = state.terminal ? state.goals : (await post(`${api}/states/${number}/analysis`, { seconds: 0.3, role, lines: 1 })).lines[0]?.goals;
      values.set(number, Object.fromEntries(Object.entries(goals || {}).filter(([, goal]) => goal !== null)));
      showValues();
      button.textContent = `${count} of ${many}`;
      await new Promise((done) => { setTimeout(done, 260); });
    }
  } catch (problem) {
    byId("values").append(make("p", { class: "note bad" }, problem.message));
  }
  button.textContent = "Value over the match";
  button.disabled = false;
});

byId("verify").hidden = isHidden || isLive;
byId("verify").addEventListener("click", async () => {
  byId("verdict").textContent = "Replaying …";
  try {
    const verdict = await get(`${api}/verdict`);
    byId("verdict").textContent = verdict.holds ? "The record holds: every move, replacement and goal value follows from the rules and the seed." : verdict.problem;
    byId("verdict").classList.toggle("fault", !verdict.holds);
  } catch (problem) {
    byId("verdict").textContent = problem.message;
  }
});

if (byId("end") && isLive) {
  byId("end").hidden = false;
  byId("end").addEventListener("click", () => post(`${api}/end`).catch((problem) => { byId("verdict").textContent = problem.message; }));
}

translate();
sounding(byId("sound"));
turning(byId("turn"), board);
showLast().catch(() => {});
if (!isLive) {
  get(api).then((match) => {
    showPlayers(byId("players"), match);
    thoughts.note(match.joint_moves);
    thoughts.show(step, last);
  }, () => {});
}
showPlace();
localTimes();
