// The first page: a match that is being played, and those that this browser takes part in.

import { showState } from "./board.js";
import { byId, get, make } from "./lib.js";
import { follow } from "./stream.js";

const board = byId("watched"), own = byId("own");

if (board) {
  const { api } = board.dataset;
  const reload = async () => {
    const match = await get(api);
    showState(board, await get(`${api}/states/${match.steps}`));
    return match.is_live;
  };
  const stop = follow(`${api}/events`, { step: () => reload().catch(() => {}), end: () => { stop(); reload().catch(() => {}); } }, reload);
}

/** The links of humans, which only their browsers know; those of matches that are over go. */
async function showOwn() {
  const kept = [];
  for (const one of JSON.parse(localStorage.getItem("own") || "[]")) {
    const human = await get(`/api/v1/humans/${encodeURIComponent(one.link)}`).catch(() => null);
    if (human?.match.is_live) kept.push({ ...one, isAsked: human.asked !== null });
  }
  localStorage.setItem("own", JSON.stringify(kept.map(({ link, title }) => ({ link, title }))));
  own.querySelector("ul").replaceChildren(...kept.map(({ link, title, isAsked }) => make("li", {}, make("a", { href: `/play/${encodeURIComponent(link)}` }, title), isAsked ? make("span", { class: "chip accent" }, "your move") : null)));
  own.hidden = !kept.length;
}

showOwn().catch(() => {});
