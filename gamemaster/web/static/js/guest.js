// A person who waits for another game master to begin a match.

import { byId, get } from "./lib.js";
import { follow } from "./stream.js";

const api = `/api/v1/guests/${encodeURIComponent(byId("guest").dataset.link)}`;

async function look() {
  const guest = await get(api);
  if (guest.seat) location.assign(guest.seat);
  return !guest.seat;
}

follow(`${api}/events`, { changed: () => look().catch(() => {}) }, look);
look().catch(() => {});
byId("copy").addEventListener("click", async (event) => {
  const button = event.currentTarget;
  byId("address").select();
  await navigator.clipboard?.writeText(byId("address").value);
  button.textContent = "Copied";
});
