// What players think, as they say it with their moves.

import { big, make, seconds } from "./lib.js";
import { valuePlot } from "./plot.js";
import { roleColour, roleName, variationWords } from "./words.js";

const isProven = (said) => said.lower !== null && said.lower === said.upper;
const isKnown = (value) => value !== null && value !== undefined;

/** The value that a player expects, for the row of its move; null where it said none. */
export function worth(said) {
  if (!said || !isKnown(said.value)) return null;
  return make("span", { class: "worth", title: "the goal value that the player expects" },
    make("span", { class: "visually-hidden" }, "expects "), `${isProven(said) ? "=" : ""}${Math.round(said.value)}`);
}

/** All that was said in a match, and the card that shows it. */
export class Thoughts {
  constructor(card, roles, go) {
    this.card = card;
    this.roles = roles;
    this.go = go;
    this.said = new Map(); // state → role → evaluation
  }

  note(joints) {
    for (const joint of joints) {
      if (Object.keys(joint.evaluations).length) this.said.set(joint.number, joint.evaluations);
    }
  }

  /** Up to a state; the plot is of the whole match. */
  show(at, last) {
    this.card.hidden = !this.said.size;
    if (!this.said.size) return;
    const series = this.roles
      .map((role) => ({ name: roleName(role), colour: roleColour(role), values: Array.from({ length: last + 1 }, (_, state) => this.said.get(state)?.[role]?.value ?? null) }))
      .filter(({ values }) => values.some(isKnown));
    const items = this.roles.map((role) => this.#item(role, at)).filter(Boolean);
    this.card.querySelector("#thought-plot").replaceChildren(...(series.length ? valuePlot(series, last, at, this.go, label(series)) : []));
    this.card.querySelector("#thought-list").replaceChildren(...items);
  }

  #item(role, at) {
    let state = at;
    while (state >= 0 && !this.said.get(state)?.[role]) state -= 1;
    if (state < 0) return null;
    const said = this.said.get(state)[role];
    return make("li", {},
      make("div", { class: "row" }, make("b", {}, roleName(role)), make("span", { class: "push numbers" },
        ...(isKnown(said.value) ? [make("b", {}, String(Math.round(said.value))), ` ${isProven(said) ? "proven" : "expected"}`] : []))),
      make("p", { class: "small muted" }, went(said, state)),
      said.text ? make("div", { class: "small", title: said.text }, variationWords(said.principal_variation) || said.text) : null);
  }
}

function went(said, state) {
  const parts = [`in state ${state}`];
  if (isKnown(said.lower) && !isProven(said)) parts.push(`proven from ${Math.round(said.lower)} to ${Math.round(said.upper)}`);
  if (said.visits) parts.push(`${big(said.visits)} visits`);
  if (isKnown(said.prior)) parts.push(`prior ${Math.round(100 * said.prior)} %`);
  if (said.playouts_per_second) parts.push(`${big(said.playouts_per_second)} random matches a second`);
  if (isKnown(said.seconds)) parts.push(seconds(said.seconds));
  if (said.trained_seconds) parts.push(`learned before for ${seconds(said.trained_seconds)}`);
  return parts.join(", ");
}

/** What the picture says, for those who do not see it. */
function label(series) {
  const told = series.map(({ name, values }) => `${name} ${course(values)}`).join("; ");
  return `Goal values that players expect: ${told}. All of them are in the list of moves.`;
}

function course(values) {
  const known = values.filter(isKnown).map(Math.round), first = values.findIndex(isKnown), last = values.findLastIndex(isKnown);
  if (first === last) return `${known[0]} in state ${first}`;
  return `${known[0]} in state ${first}, ${known.at(-1)} in state ${last}, all from ${Math.min(...known)} to ${Math.max(...known)}`;
}
