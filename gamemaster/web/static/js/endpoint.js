// A human waits for another game master to begin a match.

import { byId, get, leave } from "./lib.js";
import { follow } from "./stream.js";

const api = `/api/v1/endpoints/${encodeURIComponent(byId("endpoint").dataset.link)}`;

async function look() {
  const endpoint = await get(api);
  if (endpoint.link) leave(endpoint.link);
  return !endpoint.link;
}

follow(`${api}/events`, { changed: () => look().catch(() => {}) }, look);
byId("copy").addEventListener("click", async (event) => {
  const button = event.currentTarget;
  byId("address").select();
  await navigator.clipboard?.writeText(byId("address").value);
  button.textContent = "Copied";
});
