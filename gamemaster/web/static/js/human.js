// A human in a match: what is asked, the moves, and the board to click on.

import { analysisList } from "./analysis.js";
import { Clicking, clicksOf, drawArrows, showState, slide, turning } from "./board.js";
import { Countdown } from "./clock.js";
import { byId, get, leave, make, post, postLines } from "./lib.js";
import { sounding, soundStep } from "./sound.js";
import { follow } from "./stream.js";
import { moveRow, movesOf, showPlayers } from "./table.js";
import { moveWords, outcome, playerGoals, roleName, translate } from "./words.js";

const root = byId("human"), board = byId("board"), status = byId("status"), choices = byId("choices"), filter = byId("filter");
const api = `/api/v1/humans/${encodeURIComponent(root.dataset.link)}`;
const role = root.dataset.role;
const rows = document.querySelector("#moves tbody");
const countdown = new Countdown(byId("clock"));
const MOST_SHOWN = 120;
const MOST_KEPT = 20; // of the matches that this browser takes part in, for the first page
const percepts = []; // of each step, with the own move
let asked = 0, shown = 0;
let state = "step" in root.dataset ? { step: Number(root.dataset.step) } : null; // that is shown, at first by the service
let human = null, drawn = "", offered = "", narrowed = [], isSending = false;

const clicking = new Clicking(board, (move) => send(move), (moves) => { narrowed = moves; showChoices(); });

try {
  const others = JSON.parse(localStorage.getItem("own") || "[]").filter((one) => one.link !== root.dataset.link);
  localStorage.setItem("own", JSON.stringify([{ link: root.dataset.link, title: document.title.replace(/ · ggp$/, "") }, ...others].slice(0, MOST_KEPT)));
} catch { /* a browser that keeps nothing */ }

function say(text, mood = "") {
  byId("say").textContent = text;
  status.dataset.mood = mood;
}

/** A move without the parentheses around it. */
const plain = (move) => move.replace(/^\((.*)\)$/s, "$1");

const words = (text) => text.toLowerCase().replace(/[()]/g, " ").split(/\s+/).filter(Boolean);

/** The moves that have the words one after the other, the last one perhaps not to its end. */
function matching(moves, typed) {
  const together = ` ${words(typed).join(" ")}`;
  const has = (text) => ` ${words(text).join(" ")}`.includes(together);
  return moves.filter(({ move }) => has(move) || has(moveWords(move)));
}

function showChoices() {
  const found = matching(narrowed, filter.value);
  const shown = found.slice(0, MOST_SHOWN).map(({ move }) => make("button", { type: "button", title: move, onclick: () => send(move) }, moveWords(move) || plain(move)));
  if (found.length > MOST_SHOWN) shown.push(make("span", { class: "muted small" }, `and ${found.length - MOST_SHOWN} more: type to find them`));
  if (!found.length && narrowed.length) shown.push(make("span", { class: "muted small" }, "No legal move has these words; Enter asks for the reason."));
  choices.replaceChildren(...shown);
  return found;
}

async function send(move) {
  if (isSending || human === null || human.asked === null) return;
  isSending = true;
  byId("refused").textContent = "";
  try {
    await post(`${api}/move`, { move, step: human.asked });
    filter.value = "";
    clicking.stop();
    say("Sent. Waiting for the others …");
    byId("choosing").toggleAttribute("data-waits", true);
  } catch (problem) {
    byId("refused").textContent = problem.message;
    if (problem.status === 409) await reload().catch(() => {});
    else offer(true);
  }
  isSending = false;
}

/** Shows the legal moves, if a move is wanted. */
function offer(isAnew = false) {
  const key = `${human.match.id} ${human.asked}`;
  byId("choosing").toggleAttribute("data-waits", human.asked === null); // its room is kept for the next move
  if (human.asked === null) {
    clicking.stop();
    offered = "";
    return;
  }
  if (key === offered && !isAnew) return;
  offered = key;
  narrowed = human.legal;
  clicking.start(human.legal);
  showChoices();
}

function showStatus() {
  const { match } = human, { clock } = match;
  if (!match.is_live) {
    countdown.stop();
    byId("over").hidden = false;
    byId("choosing").hidden = true;
    byId("again").hidden = human.is_external;
    byId("swap").hidden ||= human.is_external;
    const own = match.goals ? match.goals[role] : null;
    const others = Object.entries(playerGoals(match)).filter(([name]) => name !== role).map(([, goal]) => goal);
    if (own === null || own === undefined) {
      say(match.reason ? `The match is over: ${match.reason}.` : "The match is over.", "bad");
      byId("result").textContent = match.reason || "The match is over";
      return;
    }
    const best = others.length ? Math.max(...others) : null;
    const said = best === null ? `You reached ${own} of 100.` : own > best ? `You win, ${own} to ${best}.` : own < best ? `You lose, ${own} to ${best}.` : `A draw, ${own} each.`;
    say(said, best === null ? (own >= 50 ? "won" : "") : own > best ? "won" : own < best ? "bad" : "");
    byId("result").textContent = [outcome(match), said].filter(Boolean).join(": ");
    return;
  }
  const left = clock.left[role];
  if (left === undefined) countdown.run(clock.remaining, clock.total);
  else if (human.asked !== null) countdown.run(left, match.playclock);
  else countdown.stop();
  if (human.asked !== null) say(clicking.moves.length ? "Your move: click on the board, or choose from the list." : "Your move.", "yours");
  else if (match.status === "preparing") say("The players are being started …");
  else if (clock.phase === "start") say("Waiting for everybody to be ready …");
  else say(`Waiting for ${clock.waiting.filter((name) => name !== role).map(roleName).join(", ") || "the game master"} …`);
}

/** What the human did and was told. */
function perceived() {
  const steps = percepts.map(({ told, own }, at) => make("tr", {}, make("td", { class: "numbers" }, String(at + 1)), make("td", {}, make("span", { class: "move", title: own || "" }, own ? moveWords(own) || "–" : "?")), make("td", { class: "mono small" }, told.join(" ") || "nothing")));
  if (!steps.length) return make("p", { class: "small" }, "You have been told nothing yet.");
  const head = ["Step", "You did", "You were told"].map((name) => make("th", { scope: "col" }, name));
  return make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...steps));
}

/** Shows the moves that led to this state as arrows. */
async function showLast(step) {
  if (!step) return;
  const before = await get(`/api/v1/matches/${encodeURIComponent(human.match.id)}/states/${step - 1}`);
  const row = rows.children[step - 1];
  if (!row || human.state?.step !== step) return;
  const clicks = clicksOf(before, movesOf(row, human.match.roles));
  drawArrows(board, clicks, "last");
  slide(board, clicks);
}

function show() {
  const { match } = human;
  if (human.state && `${match.id} ${human.state.step}` !== drawn) {
    drawn = `${match.id} ${human.state.step}`;
    if (human.state.facts) showState(board, human.state);
    if (human.state.step) soundStep();
    turning(byId("turn"), board);
    showLast(human.state.step).catch(() => {});
    byId("hints").replaceChildren();
    offered = "";
  }
  if (match.is_hidden) board.replaceChildren(make("p", { class: "muted" }, "In this game you are not shown the state, only told something of each step."));
  byId("percepts").replaceChildren(...(match.is_hidden || percepts.length ? [perceived()] : []));
  byId("moves").parentElement.hidden = match.is_hidden;
  for (const joint of match.joint_moves) if (rows.children.length === joint.number) rows.append(moveRow(match.roles, joint));
  byId("moves").scrollTop = byId("moves").scrollHeight;
  showPlayers(byId("players"), match);
  offer();
  showStatus();
  byId("hint").disabled = !human.may_hint;
  byId("undo").disabled = !human.may_undo;
  byId("resign").disabled = !match.is_live;
}

/** The match as it is now, with what is new; an answer that comes after a later one is not used. */
async function reload() {
  const own = ++asked, first = percepts.length;
  const known = state === null ? "" : `&known=${state.step}`;
  const found = await get(`${api}?first=${rows.children.length}&first_percepts=${first}${known}`);
  if (own < shown) return human.match.is_live;
  shown = own;
  if (found.state === null && !found.match.is_hidden && known && state.step === found.match.steps) found.state = state;
  state = found.state ?? state;
  human = found;
  human.percepts.forEach((told, at) => { percepts[first + at] = { told, own: human.own_moves[at] }; });
  if (human.next) {
    leave(human.next, { replace: true });
    return false;
  }
  show();
  return human.match.is_live;
}

async function begin() {
  await reload().catch((problem) => say(problem.message, "bad"));
  if (human?.match.status === "preparing") setTimeout(begin, 400);
}

const isLast = () => human !== null && !human.match.is_live;

/** Another game master may begin one more match. */
async function awaitNext() {
  if (isLast() && human.is_external) await reload().catch(() => {});
  setTimeout(awaitNext, 2000);
}
awaitNext();
const stop = follow(`${api}/events`, { changed: () => begin() }, async () => {
  try {
    await reload();
  } catch (problem) {
    if (problem.status === 404) say(problem.message, "bad");
    throw problem;
  }
  return !isLast();
});
translate();
sounding(byId("sound"));
begin().then(() => { if (isLast()) stop(); });

filter.addEventListener("input", showChoices);
filter.addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;
  event.preventDefault();
  const found = showChoices(), typed = filter.value.trim();
  if (!typed) return;
  const exact = found.find(({ move }) => [move, plain(move), moveWords(move)].includes(typed));
  if (exact) send(exact.move);
  else if (found.length === 1) send(found[0].move);
  else if (!found.length) send(/^\(|^\S+$/.test(typed) ? typed : `(${typed})`);
});

byId("hint").addEventListener("click", async () => {
  const own = drawn, box = byId("hints");
  byId("hint").disabled = true;
  box.replaceChildren(make("p", { class: "muted" }, "Searching …"));
  const show1 = (found) => {
    if (own !== drawn) return;
    box.replaceChildren(analysisList(found, "Hint"));
    const best = human.legal.find((one) => one.move === found.lines[0]?.moves[0]?.[role]);
    drawArrows(board, best ? [best.clicks] : [], "hint");
  };
  try {
    show1(await postLines(`${api}/hint`, { seconds: 3, lines: 3 }, show1));
  } catch (problem) {
    box.replaceChildren(make("p", { class: "note warn" }, problem.message));
  }
  byId("hint").disabled = !human?.may_hint;
});

/** Goes to the match that follows. */
async function move(path, button, body = {}) {
  button.disabled = true;
  try {
    const begun = await post(`${api}/${path}`, body);
    leave(Object.values(begun.links)[0], { replace: true });
  } catch (problem) {
    say(problem.message, "bad");
    button.disabled = false;
  }
}

byId("undo").addEventListener("click", (event) => move("undo", event.currentTarget));
byId("again").addEventListener("click", (event) => move("again", event.currentTarget));
byId("swap").addEventListener("click", (event) => move("again", event.currentTarget, { swap: true }));
byId("resign").addEventListener("click", async (event) => {
  const button = event.currentTarget;
  if (button.dataset.sure === undefined) {
    button.dataset.sure = "";
    button.textContent = "Really resign?";
    setTimeout(() => { delete button.dataset.sure; button.textContent = "Resign"; }, 4000);
    return;
  }
  button.disabled = true;
  await post(`${api}/resign`).catch((problem) => say(problem.message, "bad"));
});
