// How people call roles and write moves; the terms of the rules where the game's metadata do not say it.

const page = document.querySelector("[data-words]");
const given = page ? JSON.parse(page.dataset.words) : {};
const names = given.words || {}, patterns = given.moves || {}, colours = given.colours || {};

const plain = (text) => text.replaceAll("_", " ");

/** A role as people call it. */
export const roleName = (role) => names[role] ?? role.charAt(0).toUpperCase() + plain(role.slice(1));

/** The colour of a role's pieces, as a class of plots and marks says it. */
export const roleColour = (role) => colours[role] ?? "";

/** A move as people write it; without a pattern the term without the parentheses around it. */
export function moveWords(move) {
  const bare = move.replace(/^\((.*)\)$/s, "$1"), [name, ...values] = bare.split(" ");
  const pattern = patterns[name];
  if (pattern === undefined || bare.includes("(")) return plain(bare);
  return pattern.replace(/\{(\d+)(:letter)?\}/g, (_, place, letter) => {
    const value = values[place - 1] ?? "";
    return letter && /^\d+$/.test(value) ? String.fromCharCode(96 + Number(value)) : names[value] ?? plain(value);
  });
}

/** The same as an element, with the term where the pointer rests; a dash for who had nothing to choose. */
export function showMove(element, move) {
  const words = moveWords(move);
  element.textContent = words || "–";
  element.classList.toggle("pass", !words);
  element.title = move;
}

/** Joint moves one after the other, without those of roles that had nothing to choose. */
export const variationWords = (joints) => joints.map((moves) => moves.map(moveWords).filter(Boolean).join(" / ")).filter(Boolean).join(", ");

/** Role → its goal value, where there is one; not of chance, which neither wins nor loses. */
export function playerGoals(match) {
  return Object.fromEntries(Object.entries(match.goals || {}).filter(([role, goal]) => goal !== null && role in match.players && match.players[role].kind !== "chance"));
}

/** "White wins", "A draw"; empty where goal values do not say it. */
export function outcome(match) {
  const known = Object.entries(playerGoals(match));
  if (known.length < 2) return "";
  const best = Math.max(...known.map(([, goal]) => goal)), first = known.filter(([, goal]) => goal === best);
  if (first.length === known.length) return "A draw";
  return first.length === 1 ? `${roleName(first[0][0])} wins` : `${first.map(([role]) => roleName(role)).join(" and ")} win`;
}

/** What the service wrote in terms, in words. */
export function translate(root = document) {
  for (const element of root.querySelectorAll(".move[data-move]")) showMove(element, element.dataset.move);
  for (const element of root.querySelectorAll("[data-role-name]")) element.textContent = roleName(element.dataset.roleName);
}
