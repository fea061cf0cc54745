"""Values → HTML by templates; all text is escaped unless it is a picture of our own."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TypeAlias

from aiohttp import web
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from gamemaster.web.api.operations import services_of
from gamemaster.web.models import Evaluation, FaultDetail, MatchHead, MeetingLine

Wording: TypeAlias = Mapping[str, Mapping[str, str]]  # as `pages.wording_of` makes it

_PAGES = Path(__file__).parent.parent
_KINDS = {  # of words of a rulesheet → the class that colours them
    "comment": "c",
    "open": "p",
    "close": "p",
    "keyword": "k",
    "variable": "v",
    "number": "n",
    "name": "f",
    "constant": "",
    "blank": "",
}
_PLACE = re.compile(r"\{(\d+)(:letter)?\}")  # of an argument in the pattern of a move
_SHADES = (0.25, 0.45, 0.55, 0.75)  # shares of the points
_AMOUNTS = ((1e9, "billion"), (1e6, "million"))


def page(
    request: web.Request,
    template: str,
    section: str = "",
    values: Mapping[str, object] | None = None,
    *,
    status: int = 200,
) -> web.Response:
    """A template with its values; `section` is the part of the service that it belongs to."""
    services = services_of(request)
    common = {
        "section": section,
        "at": request.path,
        "may_write": services.guard.may_write(request),
        "needs_token": services.settings.needs_token,
        "knows_tokens": bool(services.settings.tokens),
        "has_token": services.guard.has_token(request),
        "release": version("ggp"),
        "version": assets_version(),
    }
    text = environment().get_template(template).render({**common, **(values or {})})
    return web.Response(text=text, status=status, content_type="text/html", charset="utf-8")


@cache
def environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_PAGES / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["kinds"] = _KINDS
    made.filters |= {
        "first_sentence": first_sentence,
        "when": when,
        "seconds": seconds,
        "big": big,
        "versus": versus,
        "others": others,
        "best_goal": best_goal,
        "shade": shade,
        "signed": signed,
        "status_name": status_name,
        "fault_kind": fault_kind,
        "expected": expected,
        "is_proven": is_proven,
        "went": went,
        "role_words": role_words,
        "move_words": move_words,
        "outcome_words": outcome_words,
    }
    return made


@cache
def load_templates() -> None:
    """Compiles all pages, which takes too long to be done in the event loop when they are first asked for."""
    for name in environment().list_templates():
        environment().get_template(name)


@cache
def assets_version() -> str:
    """Changes with every style sheet and module, so that browsers ask for them anew."""
    digest = hashlib.sha256()
    for path in sorted((_PAGES / "static").rglob("*")):
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()[:10]


def first_sentence(text: str) -> str:
    sentence, dot, _ = text.strip().partition(". ")
    return sentence + dot.strip()


def when(moment: datetime) -> str:
    """For readers without JavaScript; others see it in their own time zone."""
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def role_words(role: str, wording: Wording) -> str:
    """A role as people call it; this and the next two as `words.js` says it."""
    return wording["words"].get(role) or (role[:1].upper() + role[1:]).replace("_", " ")


def move_words(move: str, wording: Wording) -> str:
    """A move as people write it, a dash where nothing was to choose; without a pattern the term without parentheses."""
    bare = move[1:-1] if move.startswith("(") and move.endswith(")") else move
    name, *values = bare.split(" ")
    pattern = wording["moves"].get(name)
    if pattern is None or "(" in bare:
        return bare.replace("_", " ")

    def written(found: re.Match[str]) -> str:
        place = int(found[1]) - 1
        value = values[place] if place < len(values) else ""
        if found[2] and value.isdecimal():
            return chr(96 + int(value) % 1000)
        return wording["words"].get(value, value.replace("_", " "))

    return _PLACE.sub(written, pattern) or "–"


def outcome_words(match: MatchHead, wording: Wording) -> str:
    """ "White wins", "A draw"; empty where goal values do not say it."""
    known = player_goals(match)
    first = [role_words(role, wording) for role, goal in known.items() if goal == max(known.values())]
    if len(known) < 2:
        return ""
    if len(first) == len(known):
        return "A draw"
    return f"{first[0]} wins" if len(first) == 1 else f"{' and '.join(first)} win"


def seconds(value: float) -> str:
    if value < 0.0995:
        return f"{1000 * value:.0f} ms"
    return f"{value:.2f} s" if value < 9.995 else f"{value:.0f} s"


def big(value: float) -> str:
    for size, name in _AMOUNTS:
        if value >= size:
            return f"{value / size:.3g} {name}"
    return f"{value:,.0f}"


def versus(match: MatchHead) -> str:
    return " vs ".join(_names(match, None)) or match.game


def others(match: MatchHead, role: str) -> str:
    """Everybody but the one with this role."""
    return ", ".join(_names(match, role))


def player_goals(match: MatchHead) -> dict[str, int]:
    """Role → its goal value, where there is one; not of chance, which neither wins nor loses."""
    players = {role for role, player in match.players.items() if player.kind != "chance"}
    return {role: goal for role, goal in (match.goals or {}).items() if goal is not None and role in players}


def best_goal(match: MatchHead) -> int | None:
    """The highest goal value; None where all have the same, or nobody has any."""
    values = player_goals(match).values()
    return max(values) if len(set(values)) > 1 else None


def status_name(match: MatchHead) -> str:
    """In a word or two."""
    if match.status == "aborted":
        return "given up" if match.resigned is None else "resigned"
    return match.status


def fault_kind(fault: FaultDetail) -> str:
    """With the cause, where that is not the player."""
    return f"{fault.kind}, held up by the game master" if fault.cause == "game master" else fault.kind


def is_proven(said: Evaluation) -> bool:
    return said.is_proven


def expected(said: Evaluation) -> str:
    """In a few characters, as `ggp match` has it."""
    return f"{'=' if is_proven(said) else ''}{said.value:.0f}"


def went(said: Evaluation, number: int) -> str:
    """How a player came to what it thinks of a state."""
    parts = [f"in state {number}"]
    if said.lower is not None and said.upper is not None and not is_proven(said):
        parts.append(f"proven from {said.lower:.0f} to {said.upper:.0f}")
    if said.visits:
        parts.append(f"{big(said.visits)} visits")
    if said.prior is not None:
        parts.append(f"prior {100 * said.prior:.0f} %")
    if said.playouts_per_second:
        parts.append(f"{big(said.playouts_per_second)} random matches a second")
    if said.seconds is not None:
        parts.append(seconds(said.seconds))
    if said.trained_seconds:
        parts.append(f"learned before for {seconds(said.trained_seconds)}")
    return ", ".join(parts)


def signed(value: float) -> str:
    """A whole number with its sign."""
    return f"{round(value):+d}".replace("-", "\N{MINUS SIGN}")


def shade(meeting: MeetingLine) -> int:
    """From 1, badly lost, to 5, clearly won."""
    count = meeting.wins + meeting.draws + meeting.losses
    share = (meeting.wins + meeting.draws / 2) / count if count else 0.5
    return 1 + sum(share >= limit for limit in _SHADES)


def _names(match: MatchHead, without: str | None) -> Iterable[str]:
    return [player.name for role, player in match.players.items() if role != without and player.kind != "chance"]
