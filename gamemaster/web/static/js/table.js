// Rows of moves, and what a match says of its players.

import { written } from "./clock.js";
import { make, seconds } from "./lib.js";
import { worth } from "./thoughts.js";
import { outcome, playerGoals, showMove } from "./words.js";

/** The row of a joint move; `link` makes the address of a step, where steps can be gone to. */
export function moveRow(roles, joint, link = null) {
  const number = joint.number + 1;
  const cells = roles.map((role) => {
    const fault = joint.faults[role];
    const said = fault && fault.answer !== null ? ` ${fault.answer}` : "";
    return make("td", {},
      moveText(joint.moves[role] ?? "", fault ? "move fault" : "move"),
      role in joint.seconds ? make("span", { class: "took" }, ` ${seconds(joint.seconds[role])}`) : null,
      ...(joint.evaluations[role] ? [" ", worth(joint.evaluations[role])] : []),
      fault ? make("span", { class: "fault-note" }, `${faultKind(fault)}${said}: ${fault.detail}`) : null);
  });
  const first = link ? make("a", { href: link(number) }, String(number)) : String(number);
  return make("tr", { "data-step": number }, make("td", { class: "numbers" }, first), ...cells);
}

/** The joint move of a row: role → move, as the rules name it. */
export function movesOf(row, roles) {
  return Object.fromEntries([...row.querySelectorAll(".move")].map((cell, number) => [roles[number], cell.dataset.move ?? cell.title]));
}

function moveText(move, kind) {
  const element = make("span", { class: kind });
  showMove(element, move);
  return element;
}

/** Goal values, and who is thinking. */
export function showPlayers(list, match) {
  const goals = Object.values(playerGoals(match));
  const best = new Set(goals).size > 1 ? Math.max(...goals) : null;
  const waiting = new Set(match.clock && match.clock.phase !== "over" ? match.clock.waiting : []);
  const result = document.getElementById("outcome");
  if (result) {
    result.textContent = outcome(match);
    result.hidden = !result.textContent;
  }
  for (const item of list.querySelectorAll("li[data-role]")) {
    const goal = match.goals ? match.goals[item.dataset.role] : null;
    const place = item.querySelector(".goal");
    place.textContent = goal === null || goal === undefined ? "" : String(goal);
    place.classList.toggle("leading", goal !== null && goal === best);
    item.toggleAttribute("data-thinking", waiting.has(item.dataset.role));
    showTime(item, match.clock?.left?.[item.dataset.role], waiting.has(item.dataset.role));
    const forfeited = item.querySelector(".forfeited");
    if (forfeited) forfeited.hidden = !(match.forfeited || []).includes(item.dataset.role);
    const name = item.querySelector(".name");
    if (match.players[item.dataset.role]) name.textContent = match.players[item.dataset.role].name;
  }
}

/** What a human with one clock for all moves has left; it runs down while the match waits for them. */
function showTime(item, left, isRunning) {
  let place = item.querySelector(".left");
  if (left === undefined) return place?.remove();
  if (!place) item.querySelector(".goal").before(place = make("span", { class: "left", role: "timer" }));
  clearInterval(timers.get(item));
  const until = performance.now() + 1000 * left;
  const show = () => { place.textContent = written(isRunning ? Math.max(0, (until - performance.now()) / 1000) : left); };
  show();
  if (isRunning) timers.set(item, setInterval(show, 200));
  return undefined;
}

const timers = new WeakMap();

function faultKind({ kind, cause }) {
  return cause === "game master" ? `${kind}, held up by the game master` : kind;
}

const KINDS = { running: "live", preparing: "live", failed: "bad", broken: "bad", terminal: "" };
const NAMES = { running: "live", terminal: "ended", aborted: "given up" };

export function statusChip({ status, resigned }) {
  const given = resigned ? "resigned" : NAMES[status];
  return make("span", { class: `chip ${KINDS[status] ?? "warn"}` }, given ?? status);
}
