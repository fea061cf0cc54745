// The form to begin a match.

import { showState } from "./board.js";
import { byId, get, make, post } from "./lib.js";

const form = byId("order"), choices = byId("choices"), refused = byId("refused");
const roles = JSON.parse(form.dataset.roles);
const CHOICES = [["human", "a human"], ["mcts", "mcts, the strong one"], ["montecarlo", "montecarlo"], ["random", "random"], ["legal", "legal, always the first move"], ...JSON.parse(form.dataset.bots).map((name) => [name, name]), ["external", "an external player"]];

const game = () => byId("game")?.value ?? "";

/** One line for each role: the first is a human, the others are strong bots, unless chosen otherwise. */
function showPlayerChoices() {
  const own = roles[game()] || [];
  choices.replaceChildren(...own.map((role, at) => {
    const kind = make("select", { "aria-label": `Who plays ${role}`, "data-role": role },
      ...CHOICES.map(([value, name]) => make("option", { value, selected: value === (at ? "mcts" : "human") }, name)));
    const name = make("input", { "aria-label": `Name of ${role}`, maxlength: 60, autocomplete: "off" });
    const adjust = () => {
      name.placeholder = kind.value === "external" ? "http://host:port/" : kind.value === "human" ? "name, such as Ann" : "name, if not its own";
      name.setAttribute("aria-label", kind.value === "external" ? `Address of ${role}` : `Name of ${role}`);
    };
    kind.addEventListener("change", adjust);
    adjust();
    return make("div", { class: "player-choice" }, make("span", { class: "role" }, role), kind, name);
  }));
}

function wantedPlayers() {
  return Object.fromEntries([...choices.children].map((line) => {
    const kind = line.querySelector("select"), text = line.querySelector("input").value.trim();
    if (kind.value === "human") return [kind.dataset.role, { kind: "human", name: text || "you" }];
    if (kind.value === "external") return [kind.dataset.role, { kind: "external", url: text }];
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

/** Links for several humans; a single one goes straight to the match. */
function arrived(begun) {
  const links = Object.entries(begun.links);
  if (!links.length) return location.assign(begun.url);
  if (links.length === 1) return location.assign(links[0][1]);
  const lines = links.map(([role, path]) => {
    const link = new URL(path, location.href).href;
    const field = make("input", { readonly: true, value: link, "aria-label": `Link for ${role}` });
    const copy = make("button", { type: "button", class: "plain", onclick: async () => { field.select(); await navigator.clipboard?.writeText(link); copy.textContent = "Copied"; } }, "Copy");
    return make("div", {}, make("b", {}, role), make("div", { class: "invite" }, field, copy), make("a", { href: path, target: "_blank", rel: "noopener" }, `Play ${role}`));
  });
  const box = byId("invitation");
  box.replaceChildren(make("hr"), make("h2", {}, "The links of the players"), make("p", {}, "Each link is for one person; nobody else should see it. The match begins when everybody has opened theirs."), ...lines, make("p", {}, make("a", { href: begun.url }, "The match, for spectators")));
  box.hidden = false;
  byId("begin").hidden = true;
  box.scrollIntoView({ block: "nearest" });
  return undefined;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  refused.textContent = "";
  const players = wantedPlayers();
  const humans = Object.values(players).filter((player) => player.kind === "human").length;
  const think = Number(byId("think").value);
  const order = { players, startclock: Math.max(Number(byId("startclock").value), humans > 1 ? 600 : 1), playclock: think };
  if (humans) {
    const [playclock, increment] = byId("playclock").value.split("+").map(Number);
    Object.assign(order, { think, playclock, ...(increment === undefined ? {} : { increment }) });
  }
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

byId("endpoint")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    location.assign((await post("/api/v1/endpoints", { name: byId("endpoint-name").value.trim() || "you" })).url);
  } catch (problem) {
    refused.textContent = problem.message;
  }
});
byId("game")?.addEventListener("change", () => { showPlayerChoices(); showGame().catch(() => {}); });
showPlayerChoices();
showGame().catch(() => {});
