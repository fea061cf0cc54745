"""Records and what workers answer → values of the API."""

from datetime import UTC, datetime, timedelta
from urllib.parse import quote, urlsplit

from gamemaster.faults import Fault
from gamemaster.record import MatchRecord, PlayerRecord, StepRecord, now
from gamemaster.web.catalogue import origin_of
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
OVER = Ticking(phase="over", step=0, remaining=None, total=None, waiting=())


def match_url(match: str) -> str:
    return f"/matches/{quote(match, safe=BETWEEN)}"


def api_url(match: str) -> str:
    return f"/api/v1{match_url(match)}"


def human_cookie(match: str) -> str:
    """The name of the cookie of a browser in which a human of the match was opened."""
    return f"ggp-human-{match}"


def player_of(player: PlayerRecord) -> Player:
    if player.bot is not None:
        return Player(name=player.name or player.bot, kind="bot", bot=player.bot)
    return Player(name=player.name or urlsplit(player.url).netloc, kind=player.kind)


def players_of(record: MatchRecord) -> dict[str, Player]:
    """Of all roles, chance included."""
    nobody = Player(name="chance", kind="chance")
    return {role: player_of(record.players[role]) if role in record.players else nobody for role in record.roles}


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
        players=players_of(record),
        goals=record.goals,
        steps=len(record.steps),
        faults=len(record.faults),
        started=record.started.astimezone(UTC),
        finished=None if record.finished is None else record.finished.astimezone(UTC),
        url=match_url(match),
    )


def match_of(  # noqa: PLR0913 - what is told depends on all of them
    record: MatchRecord,
    head: MatchHead,
    *,
    first: int = 0,
    clock: Ticking = OVER,
    is_live: bool = False,
    is_hidden: bool = False,
    can_end: bool = False,
) -> Match:
    """The match as spectators see it, with its steps from `first` on; `can_end` says whether it is played here."""
    origin = origin_of(record.rulesheet)
    return Match(
        **dict(head),
        roles=record.roles,
        startclock=record.settings.startclock,
        playclock=record.settings.playclock,
        seed=None if is_live or is_hidden else record.settings.seed,
        scramble=record.settings.scramble,
        engine=record.engine,
        origin=None if origin is None else Origin(match=origin.match, step=origin.step),
        start={
            role: StartDetail(seconds=start.seconds, answer=start.answer, fault=fault_of(start.fault))
            for role, start in record.start.items()
        },
        joint_moves=() if is_hidden else tuple(step_of(record, number) for number in range(first, len(record.steps))),
        is_live=is_live,
        is_hidden=is_hidden,
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


def without_evaluations(record: MatchRecord) -> MatchRecord:
    """As those may see it who take part in a match that goes on."""
    return record.model_copy(
        update={"steps": tuple(step.model_copy(update={"evaluations": {}}) for step in record.steps)}
    )


def _telling(moves: tuple[str, ...]) -> tuple[str, ...]:
    """Those with arguments; all where none has any. Who has nothing to choose mostly does something bare."""
    return tuple(move for move in moves if move.startswith("(")) or moves


def fault_of(fault: Fault | None) -> FaultDetail | None:
    return None if fault is None else FaultDetail(kind=fault.kind, detail=fault.detail, answer=fault.answer)
