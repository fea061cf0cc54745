// A game's page: what the engine makes of it, measured when somebody looks.

import { big, byId, get, make, seconds } from "./lib.js";

const box = byId("engine");

function shown(engine) {
  const rows = [["Engine", engine.engine + (engine.fallback ? ` (${engine.fallback})` : "")]];
  if (engine.facts !== null) {
    rows.push(["Facts", engine.facts.toLocaleString("en")], ["Moves", engine.moves.toLocaleString("en")], ["Gates", engine.gates.toLocaleString("en")]);
  }
  rows.push(["Random matches", `${big(engine.playouts_per_second)} a second`]);
  if (engine.mean_length) rows.push(["Steps of one", `${engine.mean_length.toFixed(1)} on average`]);
  for (const [role, goal] of Object.entries(engine.mean_goals)) if (goal !== null) rows.push([`Its goal value for ${role}`, goal.toFixed(1)]);
  if (engine.seconds) rows.push(["From rules to play", seconds(engine.seconds)]);
  return make("dl", { class: "facts" }, ...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}

const empty = box?.querySelector("[data-empty]");
if (empty) {
  empty.querySelector("dd").textContent = "being measured …";
  get(box.dataset.url).then((engine) => box.replaceChildren(shown(engine)), (problem) => box.replaceChildren(make("p", { class: "muted" }, problem.message)));
}
