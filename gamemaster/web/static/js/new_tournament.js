// The form to begin a tournament.

import { byId, post } from "./lib.js";

const form = byId("order");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const bots = [...form.querySelectorAll("[name=bot]:checked")].map((box) => ({ kind: "bot", bot: box.value }));
  const urls = byId("urls").value.split(/\s+/).filter(Boolean).map((url) => ({ kind: "external", url }));
  const order = {
    name: byId("name").value.trim(),
    games: [...byId("games").selectedOptions].map((option) => option.value),
    players: [...bots, ...urls],
    format: byId("format").value,
  };
  for (const field of ["rounds", "startclock", "playclock"]) order[field] = Number(byId(field).value);
  byId("refused").textContent = "";
  byId("begin").disabled = true;
  try {
    location.assign((await post("/api/v1/tournaments", order)).url);
  } catch (problem) {
    byId("refused").textContent = problem.message;
  }
  byId("begin").disabled = false;
});
