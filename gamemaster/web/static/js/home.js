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

const INTERVAL = 3000; // milliseconds between two requests that ask whose move it is
const kept = () => JSON.parse(localStorage.getItem("own") || "[]");
let shown = "";

/** The links of humans, which only their browsers know; those of matches that are over are removed. Repeats while there are any. */
async function showOwn() {
  const live = [], over = [];
  for (const one of document.hidden ? [] : kept()) {
    try {
      const human = await get(`/api/v1/humans/${encodeURIComponent(one.link)}`);
      if (human.match.is_live) live.push({ ...one, isAsked: human.asked !== null });
      else over.push(one.link);
    } catch (problem) {
      if (problem.status === 404) over.push(one.link);
    }
  }
  if (over.length) localStorage.setItem("own", JSON.stringify(kept().filter(({ link }) => !over.includes(link))));
  if (!document.hidden && JSON.stringify(live) !== shown) {
    shown = JSON.stringify(live);
    own.querySelector("ul").replaceChildren(...live.map(({ link, title, isAsked }) => make("li", {}, make("a", { href: `/play/${encodeURIComponent(link)}` }, title), isAsked ? make("span", { class: "chip accent" }, "your move") : null)));
    own.hidden = !live.length;
  }
  if (kept().length) setTimeout(() => showOwn().catch(() => {}), INTERVAL);
}

showOwn().catch(() => {});
