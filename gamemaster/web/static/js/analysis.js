// What a search found out, as elements.

import { big, make, seconds } from "./lib.js";
import { moveWords, roleName, variationWords } from "./words.js";

/** The best lines with their values, and how the search went. */
export function analysisList(analysis, label = "") {
  const proven = analysis.is_solved ? "proven" : "expected";
  const items = analysis.lines.map((line) => {
    const goal = line.goals[analysis.role];
    const value = goal === null || goal === undefined ? "?" : String(Math.round(goal));
    const bar = make("div", { class: "bar", "aria-hidden": "true" }, make("i"));
    bar.firstElementChild.style.width = `${goal || 0}%`;
    const own = line.moves.length ? line.moves[0][analysis.role] : "";
    return make("li", {},
      make("div", { class: "row" }, make("b", { title: own }, moveWords(own) || own), make("span", { class: "push numbers" }, make("b", {}, value), ` ${proven}`)),
      bar,
      line.moves.length > 1 ? make("div", { class: "muted small", title: line.text }, shortened(variationWords(line.moves.map(Object.values)) || line.text)) : null);
  });
  const went = [];
  if (analysis.is_solved) went.push("solved");
  if (analysis.visits) went.push(`${big(analysis.visits)} visits`);
  if (analysis.playouts_per_second) went.push(`${big(analysis.playouts_per_second)} random matches a second`);
  went.push(seconds(analysis.seconds));
  return make("div", {},
    make("p", { class: "small muted" }, `${label || `For ${roleName(analysis.role)}`}: ${went.join(", ")}${analysis.is_final ? "" : " …"}`),
    items.length ? make("ol", { class: "lines" }, ...items) : make("p", {}, analysis.is_final ? "There is nothing to choose here." : "Searching …"));
}

function shortened(text) {
  return text.length > 220 ? `${text.slice(0, 220)} …` : text;
}
