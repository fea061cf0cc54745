// Lists of matches and tournaments that keep themselves up to date.

import { localTimes, post, settled } from "./lib.js";
import { follow } from "./stream.js";

/** Reads the page again and takes over the parts that change. */
async function refresh() {
  const response = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!response.ok) throw Object.assign(new Error("no page"), { status: response.status });
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const fresh = page.querySelectorAll("[data-refresh]");
  document.querySelectorAll("[data-refresh]").forEach((element, at) => {
    if (fresh[at] && element.innerHTML !== fresh[at].innerHTML && !element.contains(document.activeElement)) {
      element.replaceChildren(...fresh[at].childNodes);
      localTimes(element);
    }
  });
  return true;
}

const soon = settled(300, () => refresh().catch(() => {}));
follow("/api/v1/events", { changed: soon }, refresh);

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-end]");
  if (!button) return;
  button.disabled = true;
  button.textContent = "Ending …";
  await post(button.dataset.end).catch((problem) => { button.textContent = problem.message; });
  await refresh().catch(() => {});
});
