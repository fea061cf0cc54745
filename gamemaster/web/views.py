"""Records and what workers answer → values of the API; what of a match somebody may see (`visible`)."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

from gamemaster.faults import Fault
from gamemaster.player import host_of
from gamemaster.record import MatchRecord, PlayerRecord, StepRecord, now, record_json
from gamemaster.verdicts import time_left
from gamemaster.web.evaluators.derivation import origin_of
from gamemaster.web.models import (
    Evaluation,
    FaultDetail,
    Match,
    MatchHead,
    Origin,
    Player,
    StartDetail,
    Status,
    Step,
    Ticking,
)
from ggp.gdl.rulesheet import NATURE
from ggp.protocol import evaluation as protocol

BETWEEN = "~"  # between a tournament and a match of it, in what names the match here

_PATIENCE = 30.0  # seconds beyond its clocks after which a record that does not grow is not being written any more
CHANCE = Player(name="chance", kind="chance")
OVER = Ticking(phase="over", step=0, remaining=None, total=None, waiting=())
_HUMAN_COOKIE, _BEGINNER_COOKIE = "ggp-human-", "ggp-began-"


@dataclass(frozen=True, slots=True)
class Viewer:
    """Somebody who asks for a match."""

    takes_part: bool = False  # is a human of it
    may_end: bool = False  # began it, or is the operator
    visitor: str = ""  # whose share of the pool is used; empty for the operator


STRANGER = Viewer()


@dataclass(frozen=True, slots=True)
class Sight:
    """What of a match may be seen."""

    goes_on: bool  # nothing is told from which chance follows
    hides_moves: bool = False  # roles are told different things, and somebody plays who must not learn them here
    hides_evaluations: bool = False  # what players think is no business of those who play


def visible(record: MatchRecord, sight: Sight) -> MatchRecord:
    """The one way from a record to whatever is sent: what may not be seen is not in it.

    Never: how players are reached, since a part of their addresses can be a secret, and be good for their next match.
    While the match goes on: the seed, all that follows from it, and the token. `visible_json` leaves these out.
    """
    players = {role: player.model_copy(update={"url": ""}) for role, player in record.players.items()}
    told: dict[str, object] = {"players": players}
    if sight.goes_on:
        unknown = {"bot_seed": None, "scramble_seed": None}
        told["players"] = {role: player.model_copy(update=unknown) for role, player in players.items()}
        told |= {"token": "0" * len(record.token), "settings": replace(record.settings, seed=0)}
    nothing: dict[str, object] = {"evaluations": {}} if sight.hides_evaluations else {}
    if sight.hides_moves:
        nothing = {"moves": (), "seconds": {}, "faults": {}, "evaluations": {}}
    if nothing:
        told["steps"] = tuple(step.model_copy(update=nothing) for step in record.steps)
    return record.model_copy(update=told)


def visible_json(record: MatchRecord, sight: Sight) -> str:
    """A record for download; of a match that goes on without the fields that nobody may know."""
    if not sight.goes_on:
        return record_json(visible(record, sight))
    secret: Any = {"token": True, "settings": {"seed"}, "players": {"__all__": {"url", "bot_seed", "scramble_seed"}}}
    return visible(record, sight).model_dump_json(indent=2, exclude=secret) + "\n"


def visible_export(exported: Mapping[str, Any], sight: Sight) -> str:
    """A visible record in the form of other tools, likewise."""
    told = dict(exported)
    if sight.goes_on:
        del told["randomToken"]
        told["ggp"] = {name: value for name, value in told["ggp"].items() if name not in ("players", "settings")}
    return json.dumps(told, indent=2) + "\n"


def hides_moves(*, has_percepts: bool, kinds: Collection[str | None]) -> bool:
    """Whether moves and states are kept from spectators of a match that goes on.

    In GDL-II a role must not learn what it is not told. Bots of ours do not read these pages; people and programs of
    others could.
    """
    return has_percepts and any(kind not in ("bot", "chance") for kind in kinds)


def match_url(match: str) -> str:
    return f"/matches/{quote(match, safe=BETWEEN)}"


def api_url(match: str) -> str:
    return f"/api/v1{match_url(match)}"


def human_cookie(match: str) -> str:
    """The name of the cookie of a browser in which a human of the match was opened."""
    return f"{_HUMAN_COOKIE}{match}"


def beginner_cookie(match: str) -> str:
    """The name of the cookie of a browser in which the match was begun."""
    return f"{_BEGINNER_COOKIE}{match}"


def match_of_cookie(name: str) -> str | None:
    """The match of a cookie with one of these names."""
    prefix = next((one for one in (_HUMAN_COOKIE, _BEGINNER_COOKIE) if name.startswith(one)), None)
    return None if prefix is None else name.removeprefix(prefix)


def player_of(player: PlayerRecord) -> Player:
    if player.bot is not None:
        return Player(name=player.name or player.bot, kind="bot", bot=player.bot)
    return Player(name=player.name or host_of(player.url), kind=player.kind)


def players_of(record: MatchRecord) -> dict[str, Player]:
    """Of all roles, chance included."""
    return {role: player_of(record.players[role]) if role in record.players else CHANCE for role in record.roles}


def status_of(record: MatchRecord, *, is_live: bool) -> Status:
    """`interrupted` where a record says that it is running, but has not grown for too long."""
    if record.status != "running" or is_live:
        return record.status
    return "running" if now() < interrupted_at(record) else "interrupted"


def interrupted_at(record: MatchRecord) -> datetime:
    """When a running match counts as interrupted unless its record has grown."""
    settings = record.settings
    last = record.steps[-1].time if record.steps else record.started
    clock = max(settings.playclock, settings.startclock) if not record.steps else settings.playclock
    return last + timedelta(seconds=clock + settings.grace + _PATIENCE)


def head_of(record: MatchRecord, match: str, *, tournament: str = "", is_live: bool = False) -> MatchHead:
    return MatchHead(
        id=match,
        game=record.game,
        tournament=tournament,
        status=status_of(record, is_live=is_live),
        reason=record.reason,
        resigned=record.resigned,
        forfeited=record.forfeited,
        players=players_of(record),
        goals=record.goals,
        steps=len(record.steps),
        faults=len(record.faults),
        started=record.started.astimezone(UTC),
        finished=None if record.finished is None else record.finished.astimezone(UTC),
        url=match_url(match),
    )


def match_of(
    record: MatchRecord, head: MatchHead, sight: Sight, clock: Ticking = OVER, *, first: int = 0, can_end: bool = False
) -> Match:
    """The match as it may be seen, with its steps from `first` on; `can_end` says whether the viewer may end it."""
    record = visible(record, sight)
    origin = origin_of(record.rulesheet)
    return Match(
        **dict(head),
        roles=record.roles,
        startclock=record.settings.startclock,
        playclock=record.settings.playclock,
        increment=next((one.increment for one in record.players.values() if one.increment is not None), None),
        seed=None if sight.goes_on or sight.hides_moves else record.settings.seed,
        scramble=record.settings.scramble,
        engine=record.engine,
        origin=None if origin is None else Origin(match=origin.match, step=origin.step),
        start={
            role: StartDetail(seconds=start.seconds, answer=start.answer, fault=fault_of(start.fault))
            for role, start in record.start.items()
        },
        joint_moves=()
        if sight.hides_moves
        else tuple(step_of(record, number) for number in range(first, len(record.steps))),
        is_live=sight.goes_on,
        is_hidden=sight.hides_moves,
        clock=clock,
        links=links_of(head.id, head.game, can_end=can_end),
    )


def links_of(match: str, game: str, *, can_end: bool) -> dict[str, str]:
    """Where what belongs to a match is."""
    api = api_url(match)
    links = {name: f"{api}/{name}" for name in ("events", "record", "tiltyard")}
    links |= {"states": f"{api}/states/", "game": f"/api/v1/games/{quote(game)}"}
    return links | ({"end": f"{api}/end"} if can_end else {})


def ticking(record: MatchRecord) -> Ticking:
    """The clock of a match that another process plays, as far as its record tells."""
    if record.status != "running":
        return OVER
    settings = record.settings
    begun = record.steps[-1].time if record.steps else record.started
    total = settings.playclock if record.start else settings.startclock
    left = (begun + timedelta(seconds=total) - now()).total_seconds()
    return Ticking(
        phase="step" if record.start else "start",
        step=len(record.steps),
        remaining=max(0.0, min(left, total)) if record.steps or not record.start else None,
        total=total,
        waiting=tuple(role for role in record.roles if role != NATURE),
        left={role: own for role in record.players if (own := time_left(record, role)) is not None},
    )


def step_of(record: MatchRecord, number: int) -> Step:
    step: StepRecord = record.steps[number]
    return Step(
        number=number,
        moves=dict(zip(record.roles, step.moves, strict=False)),
        seconds=step.seconds,
        faults={role: detail for role, fault in step.faults.items() if (detail := fault_of(fault)) is not None},
        evaluations={role: evaluation_of(said) for role, said in step.evaluations.items()},
        time=step.time.astimezone(UTC),
    )


def evaluation_of(said: protocol.Evaluation) -> Evaluation:
    text = ", ".join(" / ".join(_telling(moves)) for moves in said.principal_variation)
    return Evaluation(**dict(said), text=text)


def _telling(moves: tuple[str, ...]) -> tuple[str, ...]:
    """Those with arguments; all where none has any. Who has nothing to choose mostly does something bare."""
    return tuple(move for move in moves if move.startswith("(")) or moves


def fault_of(fault: Fault | None) -> FaultDetail | None:
    return (
        None
        if fault is None
        else FaultDetail(kind=fault.kind, detail=fault.detail, answer=fault.answer, cause=fault.cause)
    )
