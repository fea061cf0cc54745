"""The pages of games: the list, each game, and a rulesheet of one's own with coloured words."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal
from urllib.parse import urlencode

from aiohttp import web

from gamemaster.web import models
from gamemaster.web.api.games import add_game, check_text, find_game, game_head, start_state, whole_game
from gamemaster.web.api.operations import read_form, read_query, services_of, visitor_of
from gamemaster.web.html.rendering import environment, page
from gamemaster.web.settings import Problem
from ggp.gdl.rulesheet import KEYWORDS

SECTION = "/games"
_COLOURED = 64  # rulesheets that are at hand with their colours
_MOST_LINES = 6000  # that are coloured
_MOST_CHARACTERS = 100_000  # likewise; each can become 24 of HTML


async def show_games(request: web.Request) -> web.Response:
    wanted = read_query(request, models.GamesWanted)
    catalogue = services_of(request).catalogue
    found = [game_head(entry) for entry in catalogue.find(wanted.search, wanted.all_tags)]
    values = {"wanted": wanted, "found": found, "filters": _filters(wanted, catalogue.tags)}
    return page(request, "games.html", SECTION, values)


@dataclass(frozen=True, slots=True)
class Filter:
    """A tag as a link that adds it to what is wanted, or takes it away."""

    tag: str
    games: int
    is_on: bool
    url: str


def _filters(wanted: models.GamesWanted, tags: Mapping[str, int]) -> list[Filter]:
    own = wanted.all_tags
    unknown = {tag: 0 for tag in own if tag not in tags}
    found = []
    for tag, games in {**unknown, **tags}.items():
        rest = [one for one in own if one != tag] if tag in own else [*own, tag]
        query = {name: text for name, text in (("search", wanted.search), ("tags", ",".join(rest))) if text}
        found.append(Filter(tag, games, tag in own, f"{SECTION}?{urlencode(query)}" if query else SECTION))
    return found


async def show_game(request: web.Request) -> web.Response:
    services = services_of(request)
    entry = find_game(services, request.match_info["game"])
    start, problem = None, ""
    try:
        start = await start_state(services, entry, visitor_of(request))
    except Problem as error:
        problem = error.detail
    values = {
        "game": await whole_game(services, entry),
        "start": start,
        "problem": problem,
        "engine": services.analyses.measured(entry.source),
        "rules": await asyncio.to_thread(_coloured_game, entry.source.text),
    }
    return page(request, "game.html", SECTION, values)


async def show_paste(request: web.Request) -> web.Response:
    """An empty form, or one with a rulesheet to begin with."""
    services = services_of(request)
    text = ""
    if "example" in request.query:
        text = services.catalogue.simplest.source.text
    values: dict[str, object] = {"name": "A game", "text": text, "check": None, "rules": ""}
    return page(request, "paste.html", SECTION, values)


async def take_paste(request: web.Request) -> web.StreamResponse:
    """For those without JavaScript."""
    services = services_of(request)
    form = await read_form(request)
    name, text = str(form.get("name", ""))[:60], str(form.get("rulesheet", "")).replace("\r\n", "\n")
    if form.get("do") == "keep":
        try:
            entry = await add_game(request, models.Paste(name=name, rulesheet=text))
        except Problem as problem:
            if problem.status != 422:
                raise
        else:
            raise web.HTTPSeeOther(game_head(entry).url)
    check = await check_text(services, text, visitor_of(request), evidence=True)
    marks = {finding.line: finding.severity for finding in reversed(check.findings)}
    rules = await asyncio.to_thread(_coloured, text, marks)
    values = {"name": name, "text": text, "check": check, "rules": rules}
    return page(request, "paste.html", SECTION, values)


@lru_cache(_COLOURED)
def _coloured_game(text: str) -> str:
    """As `_coloured`; that takes most of the time of the page."""
    return _coloured(text, {})


def _coloured(text: str, marks: Mapping[int, str]) -> str:
    """A rulesheet as HTML, `marks` being the classes of lines; empty where it is too long for colours."""
    lines = highlighted(text) if len(text) <= _MOST_CHARACTERS else []
    if not 0 < len(lines) <= _MOST_LINES:
        return ""
    parts = environment().get_template("parts.html").make_module()
    html: str = getattr(parts, "rulesheet")(lines, marks)  # noqa: B009 - a macro
    return html


Kind = Literal["blank", "comment", "open", "close", "keyword", "variable", "number", "name", "constant"]

_PARTS = re.compile(
    r"[()]|;[^\r\n]*|[^\s();]+|\r\n?|\n|[^\S\r\n]+"
)  # as `ggp.gdl.reader` divides a text, and what is between
_LEVELS = 6  # colours of parentheses


@dataclass(frozen=True, slots=True)
class Word:
    """A piece of a line; `level` counts parentheses around it, and starts again after the last colour."""

    text: str
    kind: Kind
    level: int = 0


def highlighted(text: str) -> list[list[Word]]:
    """The lines of the text; joined with line ends they are the text."""
    lines: list[list[Word]] = [[]]
    depth = 0
    follows_open = False
    for part in _PARTS.findall(text.lstrip("\ufeff")):
        if part[0] in "\r\n":
            lines.append([])
            continue
        if part == "(":
            lines[-1].append(Word(part, "open", depth % _LEVELS))
            depth += 1
        elif part == ")":
            depth = max(depth - 1, 0)
            lines[-1].append(Word(part, "close", depth % _LEVELS))
        else:
            lines[-1].append(Word(part, _kind(part, follows_open=follows_open)))
        if not part.isspace():
            follows_open = part == "("
    return lines


def _kind(part: str, *, follows_open: bool) -> Kind:
    if part.isspace():
        return "blank"
    if part[0] == ";":
        return "comment"
    if part[0] == "?":
        return "variable"
    if part.lower() in KEYWORDS:
        return "keyword"
    if part.lstrip("+-").isdecimal():
        return "number"
    return "name" if follows_open else "constant"
