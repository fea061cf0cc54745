// Events of the service, for hours: comes back after breaks, and says when everything has to be read anew.

const PATIENCE = 40_000; // milliseconds of silence after which the connection is thought to be dead; the service speaks every 15 s
const HIDDEN = 60_000; // milliseconds after which a page that nobody sees hangs up

/**
 * Calls handlers by the names of events; `reload` once the events come, and whenever something may have been missed.
 * `reload` returns whether there is anything left to follow.
 */
export function follow(url, handlers, reload) {
  let source = null, last = "", timer = 0, watchdog = 0, wait = 500, isDone = false;
  let isAnew = true; // what happened before the connection was there is not told

  function lost(isLost) {
    const element = document.getElementById("lost");
    if (element) element.hidden = !isLost;
    document.documentElement.toggleAttribute("data-lost", isLost);
  }

  function alive() {
    clearTimeout(watchdog);
    watchdog = setTimeout(() => again(0), PATIENCE);
  }

  function close() {
    source?.close();
    source = null;
    clearTimeout(watchdog);
  }

  function open() {
    close();
    source = new EventSource(last ? `${url}?last=${encodeURIComponent(last)}` : url);
    source.onopen = async () => {
      wait = 500;
      alive();
      if (isAnew) {
        isAnew = false;
        await refresh();
      } else lost(false);
    };
    source.onerror = () => again(wait);
    for (const [name, handler] of Object.entries({ ...handlers, resync: refresh })) {
      source.addEventListener(name, (event) => {
        alive();
        if (event.lastEventId) last = event.lastEventId;
        handler(event.data ? JSON.parse(event.data) : {});
      });
    }
  }

  /** Reads everything anew, and goes on only if there is something to go on with. */
  async function refresh() {
    try {
      const goesOn = await reload();
      lost(false);
      if (goesOn === false) stop();
    } catch (problem) {
      if (problem.status && problem.status < 500) {
        lost(false);
        stop();
      } else again(wait);
    }
  }

  /** After a break: first what has changed, then the events. */
  function again(after) {
    close();
    if (isDone) return;
    clearTimeout(timer);
    timer = setTimeout(async () => {
      isAnew = true;
      wait = Math.min(wait * 1.6, 8000);
      lost(true);
      await refresh();
      if (!isDone && !source) open();
    }, after);
  }

  function stop() {
    isDone = true;
    clearTimeout(timer);
    close();
  }

  let hiding = 0;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiding);
    if (isDone) return;
    if (document.hidden) hiding = setTimeout(close, HIDDEN);
    else if (!source) again(0);
  });
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", (event) => { if (event.persisted && !isDone) again(0); });
  open();
  return stop;
}
