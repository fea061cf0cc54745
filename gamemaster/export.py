"""Record and its states → the JSON of ggp-base and Tiltyard, which other tools read."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from gamemaster.faults import Fault
from gamemaster.record import MatchRecord
from gamemaster.replay import Replayed
from ggp.gdl.reader import read_term
from ggp.gdl.rulesheet import NATURE
from ggp.gdl.state_machine import Facts
from ggp.gdl.terms import Term, to_text

NO_PREVIEW = -1  # seconds
UNREADABLE = "IL null"  # what ggp-base writes for an answer that is no move


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
        "isPlayerHuman": [False for _ in record.roles],
        "tournamentNameFromHost": "",
        "scrambled": record.settings.scramble,
        "ggp": _own(record),
    }
    if record.faults:
        match["errors"] = _errors(record)
    if is_completed and record.goals is not None:
        match["goalValues"] = [record.goals[role] for role in record.roles]
    return match


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
    kept = {"format", "ggp", "game", "rulesheet_sha256", "engine", "players", "settings", "start", "status", "reason"}
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
