// A rulesheet of one's own: checked while it is being typed.

import { showState } from "./board.js";
import { byId, make, post, settled } from "./lib.js";

const text = byId("rulesheet"), findings = byId("findings"), drawn = byId("drawn"), shown = byId("shown");
let asked = 0;

/** Puts the cursor at a place of the text. */
function goTo(line, column) {
  const lines = text.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0) + column - 1;
  const end = Math.max(start + 1, start + (/^[^\s()]*/.exec(text.value.slice(start)) || [""])[0].length);
  text.focus();
  text.setSelectionRange(start, end);
  text.scrollTop = (line - 6) * parseFloat(getComputedStyle(text).lineHeight);
}

function item(finding) {
  return make("li", { class: finding.severity },
    make("a", { class: "where", href: `#L${finding.line}`, onclick: (event) => { event.preventDefault(); goTo(finding.line, finding.column); } }, `${finding.line}:${finding.column}`),
    ` ${finding.message} `, make("span", { class: "check" }, `${finding.severity}, ${finding.check}`));
}

function show(check) {
  const parts = [];
  if (check.problem) parts.push(make("p", { class: "note bad" }, `It cannot be played: ${check.problem}`));
  else if (!check.findings.length) parts.push(make("p", { class: "note good" }, "Nothing is wrong with it."));
  else parts.push(make("p", { class: "note warn" }, "It can be played as it is."));
  parts.push(make("ul", { class: "findings" }, ...check.findings.slice(0, 200).map(item)));
  findings.replaceChildren(...parts);
  drawn.hidden = !check.start;
  if (check.start) {
    showState(byId("board"), check.start);
    const said = [`Roles: ${check.roles.join(", ")}.`];
    if (check.evidence) said.push(`Of ${check.evidence.matches} random matches ${check.evidence.ended} came to an end, the longest after ${check.evidence.longest} steps.`, ...check.evidence.notes);
    if (check.start.problem) said.push(check.start.problem);
    shown.replaceChildren(make("p", { class: "small muted" }, said.join(" ")));
  }
  byId("keep").disabled = !check.is_playable;
}

async function check() {
  const own = ++asked;
  if (!text.value.trim()) return;
  findings.setAttribute("aria-busy", "true");
  try {
    const found = await post("/api/v1/rulesheets/check", { rulesheet: text.value });
    if (own === asked) show(found);
  } catch (problem) {
    if (own === asked) findings.replaceChildren(make("p", { class: "note bad" }, problem.message));
  } finally {
    findings.removeAttribute("aria-busy");
  }
}

text.addEventListener("input", settled(600, check));
text.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) check();
});
byId("paste").addEventListener("submit", async (event) => {
  event.preventDefault();
  if (event.submitter && event.submitter.value === "check") return check();
  try {
    const game = await post("/api/v1/games", { name: byId("name").value || "A game", rulesheet: text.value });
    location.assign(`/play?game=${encodeURIComponent(game.id)}`);
  } catch (problem) {
    if (problem.document?.findings) show({ ...problem.document, problem: problem.message, start: null, roles: [], evidence: null, is_playable: false });
    else findings.replaceChildren(make("p", { class: "note bad" }, problem.message));
  }
});
if (text.value && !findings.querySelector("ul")) check();
