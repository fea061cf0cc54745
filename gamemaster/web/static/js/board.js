// Boards: pictures put into the page, and clicks on them that make moves.

import { make, makeSvg } from "./lib.js";

/** Shows a state; its picture is made by the service and holds no scripts. */
export function showState(box, state) {
  if (!state) return;
  if (state.svg) {
    const parsed = new DOMParser().parseFromString(state.svg, "image/svg+xml");
    if (!parsed.querySelector("parsererror")) {
      box.replaceChildren(document.importNode(parsed.documentElement, true));
      if (box.hasAttribute("data-turned")) turn(box);
      return;
    }
  }
  box.replaceChildren(make("pre", {}, state.text || state.facts.join("\n")));
}

/** Lets a button show the board from the other side; hidden where the picture is not of one board with cells. */
export function turning(button, box) {
  button.removeAttribute("data-waits");
  button.hidden = new Set([...box.querySelectorAll("g.cell")].map((cell) => cell.dataset.board)).size !== 1;
  button.onclick = () => {
    button.setAttribute("aria-pressed", String(box.toggleAttribute("data-turned")));
    turn(box);
  };
}

/** Half a turn: every cell and line moves to the opposite place, upright as it was; a second time takes it back. */
function turn(box) {
  const cells = [...box.querySelectorAll("g.cell")].map((cell) => [cell, ground(cell)]);
  if (!cells.length) return;
  const left = Math.min(...cells.map(([, { x }]) => x)), right = Math.max(...cells.map(([, { x, width }]) => x + width));
  const top = Math.min(...cells.map(([, { y }]) => y)), bottom = Math.max(...cells.map(([, { y, height }]) => y + height));
  const across = ({ x, width }) => left + right - 2 * x - width, down = ({ y, height }) => top + bottom - 2 * y - height;
  const isTurned = box.hasAttribute("data-turned");
  const shift = (element, x, y) => {
    if (isTurned) element.setAttribute("transform", `translate(${x} ${y})`);
    else element.removeAttribute("transform");
  };
  for (const [cell, where] of cells) shift(cell, across(where), down(where));
  for (const old of box.querySelectorAll(".arrow")) old.setAttribute("transform", isTurned !== old.hasAttribute("data-turned") ? `rotate(180 ${(left + right) / 2} ${(top + bottom) / 2})` : "");
  for (const line of box.querySelectorAll("g.line")) shift(line, across(line.getBBox()), down(line.getBBox()));
  for (const label of box.querySelectorAll("g.labels text")) {
    const where = label.getBBox(), x = where.x + where.width / 2, y = where.y + where.height / 2;
    shift(label, x > left && x < right ? across(where) : 0, y > top && y < bottom ? down(where) : 0);
  }
}

/** What a cell covers without what is on it. */
function ground(cell) {
  return floor(cell).getBBox();
}

const floor = (cell) => [...cell.children].find((part) => part.tagName !== "title");

const cellsOf = (box) => new Map([...box.querySelectorAll("g.cell")].map((cell) => [cellKey(cell.dataset.board || "", cell.dataset.cell), cell]));

/** The cells of each move that leads from one cell to another, in their order; none where moves are lines. */
function paths(box, clicks) {
  if (box.querySelector("g.line")) return []; // there a move is a line, which is drawn
  const cells = cellsOf(box);
  return clicks.filter((clicked) => clicked.length > 1 && clicked.every((choice) => choice.length === 1)) // not any of several cells
    .map((clicked) => clicked.map(([[board, cell]]) => cells.get(cellKey(board, cell)))).filter((path) => path.every(Boolean));
}

/** Draws an arrow for each move from cell to cell; `clicks` has those of each move. Arrows of the same kind go before. */
export function drawArrows(box, clicks, kind) {
  for (const old of box.querySelectorAll(`.arrow.${kind}`)) old.remove();
  for (const path of paths(box, clicks)) box.firstElementChild.append(arrow(middle(path[0]), middle(path[path.length - 1]), kind));
}

/** Lets what has moved slide from the cell where it was, over all other cells. */
export function slide(box, clicks) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  for (const path of paths(box, clicks)) {
    const to = path[path.length - 1], from = middle(path[0]), end = middle(to);
    const parts = [...to.children].filter((part) => part.tagName !== "title" && part !== floor(to) && !part.matches(".hit"));
    const layer = makeSvg("g", { class: "sliding" }), moved = to.transform.baseVal.consolidate()?.matrix;
    layer.append(...parts.map((part) => part.cloneNode(true)));
    box.firstElementChild.append(layer);
    for (const part of parts) part.style.visibility = "hidden";
    const at = (x, y) => ({ transform: `translate(${(moved?.e ?? 0) + x}px, ${(moved?.f ?? 0) + y}px)` });
    layer.animate([at(from.x - end.x, from.y - end.y), at(0, 0)], { duration: 250, easing: "ease-out" }).finished.catch(() => {}).then(() => {
      layer.remove();
      for (const part of parts) part.style.visibility = "";
    });
  }
}

/** The clicks of the moves of a step, as the state before it knows them. */
export function clicksOf(before, moves) {
  const found = Object.entries(moves).map(([role, move]) => before.legal[role]?.length > 1 && before.legal[role].find((one) => one.move === move));
  return found.filter(Boolean).map((one) => one.clicks);
}

/** Where a cell is now, turned or not; and its size. */
function middle(cell) {
  const { x, y, width, height } = ground(cell), moved = cell.transform.baseVal.consolidate()?.matrix;
  return { x: x + width / 2 + (moved?.e ?? 0), y: y + height / 2 + (moved?.f ?? 0), size: Math.min(width, height), isTurned: Boolean(moved) };
}

function arrow(from, to, kind) {
  const long = Math.hypot(to.x - from.x, to.y - from.y) || 1, size = to.size;
  const across = (to.x - from.x) / long, down = (to.y - from.y) / long;
  const at = (along, aside) => `${to.x - across * along - down * aside},${to.y - down * along + across * aside}`;
  const tip = (kind === "last" ? 0.3 : 0) * size; // a piece has moved there already
  const neck = tip + 0.3 * size, start = long - 0.12 * size; // measured back from the middle of the cell that it points to
  const corners = [at(start, -0.06 * size), at(neck, -0.06 * size), at(neck, -0.17 * size), at(tip, 0), at(neck, 0.17 * size), at(neck, 0.06 * size), at(start, 0.06 * size)];
  return makeSvg("polygon", { class: `arrow ${kind}`, points: corners.join(" "), ...(from.isTurned ? { "data-turned": "" } : {}) });
}

const cellKey = (board, cell) => `${board}\u0000${cell}`;

/**
 * Lets the legal moves be made by clicks. `choose` is called with a move once the clicks say which it is, `narrow` with
 * the moves that are still possible whenever they are several.
 */
export class Clicking {
  constructor(box, choose, narrow) {
    this.box = box;
    this.choose = choose;
    this.narrow = narrow;
    this.moves = [];
    this.clicked = [];
  }

  /** Begins anew with these moves. */
  start(moves) {
    this.all = moves;
    this.moves = moves.filter((move) => move.clicks.length);
    this.clicked = [];
    this.mark();
  }

  stop() {
    this.start([]);
  }

  /** The moves that agree with the clicks so far. */
  get possible() {
    return this.moves.filter((move) => this.clicked.every((key, at) => at < move.clicks.length && this.has(move, at, key)));
  }

  has(move, at, key) {
    return move.clicks[at].some(([board, cell]) => cellKey(board, cell) === key);
  }

  click(key) {
    if (this.clicked.length && this.clicked[this.clicked.length - 1] === key) {
      this.clicked.pop();
    } else {
      this.clicked.push(key);
      if (!this.possible.length) this.clicked = [key]; // another piece
      if (!this.possible.length) this.clicked = [];
    }
    this.decide();
  }

  /** A line between two dots is both clicks at once. */
  clickLine(from, to) {
    const found = this.moves.filter((move) => this.joins(move, from, to));
    if (found.length === 1) this.choose(found[0].move);
    else if (found.length) this.narrow(found);
  }

  joins(move, from, to) {
    if (move.clicks.length !== 2) return false;
    return (this.has(move, 0, from) && this.has(move, 1, to)) || (this.has(move, 0, to) && this.has(move, 1, from));
  }

  decide() {
    const possible = this.possible;
    const complete = possible.filter((move) => move.clicks.length === this.clicked.length);
    if (this.clicked.length && complete.length === 1 && possible.length === 1) {
      const { move } = complete[0];
      this.clicked = [];
      this.mark();
      this.choose(move);
      return;
    }
    this.mark();
    this.narrow(this.clicked.length ? possible : this.all);
  }

  /** Shows where a click means something. */
  mark() {
    for (const old of this.box.querySelectorAll(".hit")) old.remove();
    this.box.toggleAttribute("data-choosing", this.clicked.length > 0);
    const lines = [...this.box.querySelectorAll("g.line[data-from]")];
    const next = new Set();
    for (const move of this.possible) {
      for (const [board, cell] of move.clicks[this.clicked.length] || []) next.add(cellKey(board, cell));
    }
    const first = new Set();
    if (this.clicked.length) {
      for (const move of this.moves) for (const [board, cell] of move.clicks[0]) first.add(cellKey(board, cell));
    }
    for (const cell of this.box.querySelectorAll("g.cell[data-cell]")) {
      const key = cellKey(cell.dataset.board || "", cell.dataset.cell);
      const isChosen = this.clicked.includes(key);
      this.mark1(cell, next.has(key) || isChosen, first.has(key), isChosen, () => this.click(key));
    }
    this.light();
    this.box.toggleAttribute("data-lined", lines.length > 0); // there the lines are what people click
    for (const line of lines) {
      const from = cellKey(line.dataset.board || "", line.dataset.from), to = cellKey(line.dataset.board || "", line.dataset.to);
      const can = line.dataset.drawn !== "yes" && this.moves.some((move) => this.joins(move, from, to));
      this.mark1(line, can, false, false, () => this.clickLine(from, to));
    }
  }

  /** Where any of several cells makes a move, such as those of a column, all of them light up together. */
  light() {
    const cells = cellsOf(this.box);
    for (const cell of cells.values()) cell.onpointerenter = cell.onpointerleave = null;
    for (const move of this.possible) {
      const group = (move.clicks[this.clicked.length] || []).map(([board, cell]) => cells.get(cellKey(board, cell))).filter(Boolean);
      if (group.length < 2) continue;
      for (const cell of group) {
        cell.toggleAttribute("data-grouped", true);
        cell.onpointerenter = () => group.forEach((one) => one.toggleAttribute("data-lit", true));
        cell.onpointerleave = () => group.forEach((one) => one.removeAttribute("data-lit"));
      }
    }
  }

  mark1(element, can, mayBegin, isChosen, action) {
    element.onclick = can || mayBegin ? action : null;
    element.toggleAttribute("data-can", can);
    element.toggleAttribute("data-chosen", isChosen);
    for (const old of ["data-grouped", "data-lit"]) element.removeAttribute(old);
    if (!can) {
      element.removeAttribute("tabindex");
      if (element.getAttribute("role") === "button") element.setAttribute("role", "img");
      element.onkeydown = null;
      return;
    }
    element.setAttribute("tabindex", "0");
    element.setAttribute("role", "button");
    element.onkeydown = (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      action();
    };
    element.append(element.matches("g.line") ? lineHit(element) : cellHit(element));
  }
}

/** A frame over a cell that says that it can be clicked. */
function cellHit(cell) {
  const box = cell.getBBox();
  const inset = Math.min(box.width, box.height) * 0.04;
  return makeSvg("rect", {
    class: "hit", x: box.x + inset, y: box.y + inset, width: Math.max(box.width - 2 * inset, 4),
    height: Math.max(box.height - 2 * inset, 4), rx: Math.min(box.width, box.height) * 0.08,
  });
}

/** A band along a line, wide enough for a finger. */
function lineHit(line) {
  const box = line.getBBox(), half = Math.max(box.width, box.height) * 0.14;
  return makeSvg("rect", {
    class: "hit band", x: box.x - (box.width < half ? half : 0), y: box.y - (box.height < half ? half : 0),
    width: Math.max(box.width, 2 * half), height: Math.max(box.height, 2 * half), rx: half,
  });
}
