"""Record → the states of the match, checked against the rulesheet and the seed; and the JSON of other tools."""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from gamemaster.faults import Fault, escaped, shown
from gamemaster.record import MatchRecord, StepRecord
from gamemaster.referee import MoveChoice, Outcome, Referee, Situation, replacement
from gamemaster.settings import Replacement, derived
from gamemaster.verdicts import decides, verdict_of
from ggp.engines import make_machine
from ggp.errors import ReadError, RecordError
from ggp.gdl.reader import read_term
from ggp.gdl.rulesheet import NATURE, Rulesheet, parse_rulesheet
from ggp.gdl.state_machine import Facts, JointMove
from ggp.gdl.terms import Term, to_text
from ggp.interpreter.legality import refusal
from ggp.settings import first_error

NO_PREVIEW = -1  # seconds
UNREADABLE = "IL null"  # what ggp-base writes for an answer that is no move


@dataclass(frozen=True, slots=True)
class Replayed:
    """A state of the match; `step` is the one that led to it, None for the initial state."""

    state: Facts | None  # None where the rules give none
    step: StepRecord | None


def replay(record: MatchRecord) -> Iterator[Replayed]:
    """All states of a match, in order; RecordError, with the step, at the first thing that does not hold.

    Checked: the hash of the rulesheet, roles and players, every move as legal at its step, every replacement and every
    move of `random` as following from the seed, how the match ended, and the goal values. Where the rules gave no
    answer that is believed, so that this comes to an end.
    """
    rulesheet = _rulesheet(record)
    engine = None if record.engine == "circuit" else record.engine  # what was judged with it may be too much for others
    referee = Referee(rulesheet, make_machine(rulesheet, engine), record.settings)
    _check_roles(record, referee.machine.roles)
    _check_seeds(record)
    _check_course(record)
    if record.is_exhausted and not record.start:
        yield Replayed(None, None)
        return
    situation = referee.begin()
    yield Replayed(situation.state, None)
    for number, step in enumerate(record.steps):
        if isinstance(situation, Outcome):
            raise _wrong(f"step {number} comes after the end: {_described(situation)}")
        joint_move = _joint_move(record, step, situation, referee)
        _, situation = referee.advance(situation, joint_move)
        yield Replayed(situation.state, step)
    _check_end(record, situation, referee)


def exported(record: MatchRecord, states: Sequence[Replayed]) -> dict[str, Any]:
    """The fields of ggp-base's records, and under `ggp` what these have no place for.

    `states` is the whole replay of the record. Times are in milliseconds since 1970, as there; what was given up,
    broken or stopped at the step limit is `isAborted`.
    """
    is_completed = record.status == "terminal"
    known = [replayed for replayed in states if replayed.state is not None]
    match: dict[str, Any] = {
        "matchId": record.match,
        "randomToken": record.token,
        "startTime": _milliseconds(record.started),
        "gameMetaURL": record.game,  # a name; we know of no address
        "isCompleted": is_completed,
        "isAborted": not is_completed and record.status != "running",
        "states": [_state(replayed.state) for replayed in known if replayed.state is not None],
        "moves": [[_spaced(read_term(move)) for move in step.moves] for step in record.steps],
        "stateTimes": [_milliseconds(replayed.step.time if replayed.step else record.started) for replayed in known],
        "previewClock": NO_PREVIEW,
        "startClock": record.settings.startclock,
        "playClock": record.settings.playclock,
        "playerNamesFromHost": [_player_name(record, role) for role in record.roles],
        "isPlayerHuman": [role in record.players and record.players[role].kind == "human" for role in record.roles],
        "tournamentNameFromHost": "",
        "scrambled": record.settings.scramble,
        "ggp": _own(record),
    }
    if record.faults:
        match["errors"] = _errors(record)
    if is_completed and record.goals is not None:
        match["goalValues"] = [record.goals[role] for role in record.roles]
    return match


class _Foreign(BaseModel):
    """The fields of ggp-base's records that are shown; others are not looked at."""

    model_config = ConfigDict(extra="ignore")

    matchId: str  # noqa: N815 - here and below: as ggp-base writes it
    gameMetaURL: str = ""  # noqa: N815
    moves: tuple[tuple[str, ...], ...]
    states: tuple[str, ...] = ()
    errors: tuple[tuple[str, ...], ...] = ()
    playerNamesFromHost: tuple[str | None, ...] = ()  # noqa: N815
    goalValues: tuple[int, ...] = ()  # noqa: N815
    isCompleted: bool = False  # noqa: N815
    isAborted: bool = False  # noqa: N815


@dataclass(frozen=True, slots=True)
class ForeignRecord:
    """A match as ggp-base and Tiltyard record it, without its rules: players, moves and errors are in their order."""

    match: str
    game: str  # an address, as a rule
    players: tuple[str, ...]
    moves: tuple[tuple[str, ...], ...]
    errors: tuple[tuple[str, ...], ...]  # of START, then of each step; codes, empty where there is none
    goals: tuple[int, ...]
    status: Literal["completed", "aborted", "running"]


def read_foreign(path: Path) -> ForeignRecord | None:
    """The record in a file in the form of ggp-base; None for a file in any other. RecordError where it is damaged."""
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None  # reading it as one of ours will say why
    if not isinstance(data, dict) or "matchId" not in data or "format" in data:
        return None
    try:
        found = _Foreign.model_validate(data)
    except ValidationError as error:
        raise RecordError(f"{path}: a record in the form of ggp-base, but {first_error(error)}") from None
    names = [shown(name or "") for name in found.playerNamesFromHost]
    count = max(len(names), max(map(len, found.moves), default=0))
    return ForeignRecord(
        match=shown(found.matchId),
        game=shown(found.gameMetaURL),
        players=tuple(
            names[number] if number < len(names) and names[number] else f"player {number + 1}"
            for number in range(count)
        ),
        moves=tuple(tuple(map(_plain, moves)) for moves in found.moves),
        errors=tuple(tuple(map(shown, codes)) for codes in found.errors),
        goals=found.goalValues,
        status="completed" if found.isCompleted else "aborted" if found.isAborted else "running",
    )


def _plain(move: str) -> str:
    """As we write it; as it is where it is no term."""
    try:
        return to_text(read_term(move))
    except ReadError:
        return shown(move)


def _rulesheet(record: MatchRecord) -> Rulesheet:
    try:
        rulesheet = parse_rulesheet(record.rulesheet, "rulesheet")
    except ReadError as error:
        raise _wrong(str(error)) from None
    if rulesheet.sha256 != record.rulesheet_sha256:
        raise _wrong(f"rulesheet_sha256 should be {rulesheet.sha256}, so the rulesheet is not the one of this match")
    return rulesheet


def _check_roles(record: MatchRecord, roles: tuple[str, ...]) -> None:
    if record.roles != roles:
        raise _wrong(f"roles should be {' '.join(roles)}, as in the rulesheet, not {' '.join(record.roles)}")
    played = {role for role in roles if role != NATURE}
    if record.players.keys() != played:
        raise _wrong(f"players should be of {' '.join(sorted(played))}, not of {' '.join(sorted(record.players))}")
    strangers = {role for _, role, _ in record.faults} - played
    if strangers:
        raise _wrong(f"faults of {' '.join(sorted(strangers))}, which no player took")


def _check_seeds(record: MatchRecord) -> None:
    seed = record.settings.seed
    for role, player in record.players.items():
        scramble = derived(seed, "scramble", role) if record.settings.scramble else None
        if player.scramble_seed != scramble:
            raise _wrong(f"scramble_seed of {role} should be {scramble}, not {player.scramble_seed}")
        bot_seed = None if player.bot is None else derived(seed, "bot", role)
        if player.bot_seed != bot_seed:
            raise _wrong(f"bot_seed of {role} should be {bot_seed}, not {player.bot_seed}")


def _check_course(record: MatchRecord) -> None:
    """What was told and measured: every player at START and in every step. Times do not matter: clocks are set."""
    if record.start or record.steps:
        _check_same_roles("start", record.start.keys(), record)
    for role, start in record.start.items():
        if (start.answer is None) == (start.fault is None):
            raise _wrong(f"start of {role} should have either an answer or a fault")
    for number, step in enumerate(record.steps):
        _check_same_roles(f"seconds of step {number}", step.seconds.keys(), record)
        _check_evaluations(record, number, step)
    if record.resigned is not None and (record.status != "aborted" or record.resigned not in record.players):
        raise _wrong(f"{shown(record.resigned)} cannot have resigned in a match that is {record.status}")
    if (record.finished is None) != (record.status == "running"):
        raise _wrong(f"finished should {'not ' if record.finished else ''}be there in a match that is {record.status}")


def _check_evaluations(record: MatchRecord, number: int, step: StepRecord) -> None:
    """Only their form: what a player thinks follows from nothing."""
    strangers = step.evaluations.keys() - record.players.keys()
    if strangers:
        raise _wrong(f"evaluations of {' '.join(sorted(strangers))} in step {number}, which no player took")
    for role, evaluation in step.evaluations.items():
        if any(len(moves) != len(record.roles) for moves in evaluation.principal_variation):
            raise _wrong(f"step {number}: the variation of {role} should have {len(record.roles)} moves in each step")


def _check_same_roles(what: str, roles: Collection[str], record: MatchRecord) -> None:
    if set(roles) != record.players.keys():
        raise _wrong(f"{what} should be of {' '.join(sorted(record.players))}, not of {' '.join(sorted(roles))}")


def _joint_move(record: MatchRecord, step: StepRecord, choice: MoveChoice, referee: Referee) -> JointMove:
    if len(step.moves) != len(record.roles):
        raise _wrong(f"step {choice.step}: {len(step.moves)} moves for {len(record.roles)} roles")
    return tuple(_move(step, role, text, choice, referee) for role, text in zip(record.roles, step.moves, strict=True))


def _move(step: StepRecord, role: str, text: str, choice: MoveChoice, referee: Referee) -> Term:
    refused = refusal(referee.rulesheet, referee.machine, choice.state, role, text)
    if refused is not None:
        raise _wrong(f"step {choice.step}: {shown(text)} is not legal for {role}: {shown(refused.reason)}")
    move = read_term(text)
    if role == NATURE or role in step.faults:
        policy: Replacement = "random" if role == NATURE else referee.settings.replacement
        due = replacement(policy, referee.settings.seed, choice.step, role, choice.legal[role])
        if move != due:
            raise _wrong(
                f"step {choice.step}: the game master's move for {role} should be {to_text(due)}, not {shown(text)}"
            )
    return move


def _check_end(record: MatchRecord, situation: Situation, referee: Referee) -> None:
    _check_marks(record)
    if record.status in ("running", "aborted", "void") or record.is_exhausted:  # at any moment
        if record.goals is not None:
            raise _wrong(f"goals in a match that is {record.status}")
        return
    steps = len(record.steps)
    verdict = verdict_of(record)
    if verdict is not None and situation.state is not None:
        ending = None if isinstance(situation, MoveChoice) else situation.ending
        if decides(verdict, ending) and record.status != ending:  # programs before this rule let the rules end a match
            situation = referee.conclude(situation.state, verdict)
    if isinstance(situation, MoveChoice) or situation.ending != record.status:
        raise _wrong(f"status should not be {record.status} after {steps} steps: {_described(situation)}")
    if situation.goals != record.goals:
        raise _wrong(f"goals should be {situation.goals}, not {record.goals}")


def _check_marks(record: MatchRecord) -> None:
    """Who forfeited, and who was never reached."""
    verdict = verdict_of(record) if record.status == "forfeit" else None
    forfeited = () if verdict is None else verdict.lost
    if record.forfeited != forfeited:
        raise _wrong(f"forfeited should be {list(forfeited)}, not {list(record.forfeited)}")
    absent = tuple(role for role, start in record.start.items() if start.fault and start.fault.kind == "unreachable")
    if record.absent != (absent if record.status == "void" else ()):
        raise _wrong(f"absent should be {list(absent)} in a void match, not {list(record.absent)}")
    if record.status == "void" and (record.steps or not absent):
        raise _wrong("a match is void only where a player was not reached for START")
    if record.is_exhausted and record.status != "broken":
        raise _wrong(f"is_exhausted in a match that is {record.status}")


def _described(situation: Situation) -> str:
    match situation:
        case MoveChoice(step):
            return f"the rules go on with step {step}"
        case Outcome("terminal"):
            return "the state is terminal"
        case Outcome(_, reason):
            return reason or ""


def _wrong(message: str) -> RecordError:
    return RecordError(f"the record does not replay: {escaped(message)}")


def _errors(record: MatchRecord) -> list[list[str]]:
    """One entry for START and one for each step, so as many as there are states."""
    of_start = [_code(record.start[role].fault if role in record.start else None) for role in record.roles]
    return [of_start, *([_code(step.faults.get(role)) for role in record.roles] for step in record.steps)]


def _code(fault: Fault | None) -> str:
    if fault is None:
        return ""
    match fault.kind:
        case "timeout":
            return "TO"
        case "unreachable":
            return "CE"
        case "malformed":
            return UNREADABLE
        case "illegal":
            return f"IL {fault.answer}"


def _own(record: MatchRecord) -> dict[str, Any]:
    kept = {
        "format", "ggp", "game", "rulesheet_sha256", "engine", "players", "settings", "start", "status", "reason",
        "resigned", "forfeited", "absent",
    }  # fmt: skip
    own = record.model_dump(mode="json", include=kept)
    own["steps"] = [step.model_dump(mode="json", include={"seconds", "faults", "evaluations"}) for step in record.steps]
    return own


def _player_name(record: MatchRecord, role: str) -> str:
    return NATURE if role == NATURE else record.players[role].name


def _state(facts: Facts) -> str:
    return " ".join(["(", *sorted(map(_spaced, facts)), ")"])


def _spaced(term: Term) -> str:
    """KIF with blanks inside parentheses, as ggp-base prints it."""
    return to_text(term).replace("(", "( ").replace(")", " )")


def _milliseconds(time: datetime) -> int:
    return round(time.timestamp() * 1000)
