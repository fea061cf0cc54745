// What the pages share: requests, elements, times.

/** What the service said to a request that it did not fulfil. */
export class Problem extends Error {
  constructor(status, document) {
    super(document.detail || document.title || `HTTP status ${status}`);
    this.status = status;
    this.document = document;
  }
}

async function answered(response) {
  const text = await response.text();
  let value = {};
  try { value = text ? JSON.parse(text) : {}; } catch { value = { detail: `HTTP status ${response.status}` }; }
  if (!response.ok) throw new Problem(response.status, value);
  return value;
}

const PAUSES = [300, 1000, 3000]; // milliseconds before it is asked for again, when no answer came

/** The JSON at an address of the API; asked for again where the network failed. */
export async function get(path) {
  for (const pause of PAUSES) {
    try {
      return await answered(await fetch(path, { headers: { Accept: "application/json" } }));
    } catch (problem) {
      if (problem instanceof Problem) throw problem;
      await new Promise((done) => { setTimeout(done, pause); });
    }
  }
  return answered(await fetch(path, { headers: { Accept: "application/json" } }));
}

/** The answer to JSON that is sent. */
export async function post(path, body = {}) {
  return answered(await send(path, body));
}

function send(path, body) {
  return fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
}

/** Calls `report` with each line of JSON as it comes; the last one is returned. */
export async function postLines(path, body, report) {
  const response = await send(path, { ...body, stream: true });
  if (!response.ok || !(response.headers.get("Content-Type") || "").includes("ndjson")) return answered(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", last = null;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return last;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines.filter(Boolean)) {
      last = JSON.parse(line);
      if (last.status && last.detail !== undefined && !("lines" in last)) throw new Problem(last.status, last);
      report(last);
    }
  }
}

let isLeaving = false;
window.addEventListener("pageshow", () => { isLeaving = false; }); // also after a return from the history

/**
 * Navigates to another page, at most once, since a second navigation aborts the first one.
 * With `replace` this page gets no entry in the history.
 */
export function leave(address, { replace = false } = {}) {
  if (isLeaving) return;
  isLeaving = true;
  if (replace) location.replace(address);
  else location.assign(address);
}

/** An element with attributes and children; text is always text. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

export function makeSvg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

export const byId = (id) => document.getElementById(id);

/** `0.12 s`, `3 ms`. */
export function seconds(value) {
  if (value < 0.0995) return `${Math.round(1000 * value)} ms`;
  return value < 9.995 ? `${value.toFixed(2)} s` : `${Math.round(value)} s`;
}

export function big(value) {
  if (value >= 1e9) return `${(value / 1e9).toPrecision(3)} billion`;
  if (value >= 1e6) return `${(value / 1e6).toPrecision(3)} million`;
  return Math.round(value).toLocaleString("en");
}

/** Times of the page in the reader's own time zone. */
export function localTimes(root = document) {
  const today = new Date().toDateString();
  for (const element of root.querySelectorAll("time[datetime]")) {
    const moment = new Date(element.getAttribute("datetime"));
    if (Number.isNaN(moment.getTime())) continue;
    const time = moment.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    element.textContent = moment.toDateString() === today ? time : `${moment.toLocaleDateString([], { day: "numeric", month: "short", year: "numeric" })}, ${time}`;
    element.title = moment.toLocaleString();
  }
}

/** Waits so many milliseconds after the last call. */
export function settled(wait, action) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...given), wait);
  };
}

localTimes();
