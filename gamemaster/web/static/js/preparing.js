// A match that is about to begin: the page of the match as soon as there is one.

import { get } from "./lib.js";

const box = document.querySelector("[data-preparing]");

async function look() {
  const match = await get(box.dataset.preparing).catch(() => null);
  if (match && match.status !== "preparing") location.reload();
  else setTimeout(look, match ? 300 : 2000);
}

if (box) look();
