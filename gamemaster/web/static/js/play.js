// The form to begin a match.

import { showState } from "./board.js";
import { byId, get, make, post } from "./lib.js";

const form = byId("order"), takers = byId("takers"), refused = byId("refused");
const roles = JSON.parse(form.dataset.roles);
const CHOICES = [["person", "a person"], ["mcts", "mcts, the strong one"], ["montecarlo", "montecarlo"], ["random", "random"], ["legal", "legal, always the first move"], ["url", "a player elsewhere"]];

const game = () => byId("game")?.value ?? "";

/** One line for each role: the first is a person, the others are strong, unless chosen otherwise. */
function showTakers() {
  const own = roles[game()] || [];
  takers.replaceChildren(...own.map((role, at) => {
    const kind = make("select", { "aria-label": `Who plays ${role}`, "data-role": role },
      ...CHOICES.map(([value, name]) => make("option", { value, selected: value === (at ? "mcts" : "person") }, name)));
    const name = make("input", { "aria-label": `Name of ${role}`, maxlength: 60, autocomplete: "off" });
    const adjust = () => {
      name.placeholder = kind.value === "url" ? "http://host:port/" : kind.value === "person" ? "name, such as Ann" : "name, if not its own";
      name.setAttribute("aria-label", kind.value === "url" ? `Address of ${role}` : `Name of ${role}`);
    };
    kind.addEventListener("change", adjust);
    adjust();
    return make("div", { class: "taker" }, make("span", { class: "role" }, role), kind, name);
  }));
}

function wantedPlayers() {
  return Object.fromEntries([...takers.children].map((line) => {
    const kind = line.querySelector("select"), text = line.querySelector("input").value.trim();
    if (kind.value === "person") return [kind.dataset.role, { kind: "person", name: text || "you" }];
    if (kind.value === "url") return [kind.dataset.role, { kind: "url", url: text }];
    return [kind.dataset.role, { kind: "bot", bot: kind.value, name: text }];
  }));
}

async function showGame() {
  if (!game()) return;
  const id = encodeURIComponent(game());
  const [found, state] = await Promise.all([get(`/api/v1/games/${id}`), get(`/api/v1/games/${id}/start`)]);
  if (found.id !== game()) return;
  showState(byId("preview"), state);
  byId("preview-title").textContent = found.title;
  byId("preview-words").textContent = found.description;
}

/** Links for several people, or straight to the only one's seat. */
function arrived(begun) {
  const seats = Object.entries(begun.seats);
  if (!seats.length) return location.assign(begun.url);
  if (seats.length === 1) return location.assign(seats[0][1]);
  const lines = seats.map(([role, path]) => {
    const link = new URL(path, location.href).href;
    const field = make("input", { readonly: true, value: link, "aria-label": `Link for ${role}` });
    const copy = make("button", { type: "button", class: "plain", onclick: async () => { field.select(); await navigator.clipboard?.writeText(link); copy.textContent = "Copied"; } }, "Copy");
    return make("div", {}, make("b", {}, role), make("div", { class: "invite" }, field, copy), make("a", { href: path, target: "_blank", rel: "noopener" }, `Take the seat of ${role}`));
  });
  const box = byId("invitation");
  box.replaceChildren(make("hr"), make("h2", {}, "The seats"), make("p", {}, "Each link is for one person; nobody else should see it. The match begins when everybody has opened theirs."), ...lines, make("p", {}, make("a", { href: begun.url }, "The match, for those who look on")));
  box.hidden = false;
  byId("begin").hidden = true;
  box.scrollIntoView({ block: "nearest" });
  return undefined;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  refused.textContent = "";
  const players = wantedPlayers();
  const people = Object.values(players).filter((taker) => taker.kind === "person").length;
  const think = Number(byId("think").value);
  const order = { players, startclock: Math.max(Number(byId("startclock").value), people > 1 ? 600 : 1), playclock: people ? Number(byId("playclock").value) : think };
  if (people) order.think = think;
  const button = byId("begin");
  button.disabled = true;
  try {
    const { match, step } = form.dataset;
    arrived(match
      ? await post(`/api/v1/matches/${encodeURIComponent(match)}/branches`, { ...order, step: Number(step) })
      : await post("/api/v1/matches", { ...order, game: game() }));
  } catch (problem) {
    refused.textContent = problem.message;
  } finally {
    button.disabled = false;
  }
});

byId("guest")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    location.assign((await post("/api/v1/guests", { name: byId("guest-name").value.trim() || "you" })).url);
  } catch (problem) {
    refused.textContent = problem.message;
  }
});
byId("game")?.addEventListener("change", () => { showTakers(); showGame().catch(() => {}); });
showTakers();
showGame().catch(() => {});
