"""Record so far → why the match ends by no rule of the game: a forfeit, or what both players have agreed on.

And how much time a player has left who has one clock for all moves.
"""

from collections.abc import Sequence

from gamemaster.record import MatchRecord, StepRecord
from gamemaster.referee import Ending, Verdict


def verdict_of(record: MatchRecord) -> Verdict | None:
    """After the last step of the record; None where there is none."""
    return _out_of_time(record) or _forfeit(record) or _adjudicated(record)


def decides(verdict: Verdict, ending: Ending | None) -> bool:
    """Whether it decides a match that the rules or the limit of steps end in the same step; None where it goes on.

    A forfeit does: the replacement of the last fault may have won the match.
    """
    return ending is None or (verdict.ending == "forfeit" and ending in ("terminal", "step limit"))


def time_left(record: MatchRecord, role: str) -> float | None:
    """Seconds that a player has for its next move and all after it; None for one that has playclock for each.

    It gains its increment with each move that is more than a bare word, as `noop` is. What the game master itself
    caused is not taken off.
    """
    increment = record.players[role].increment
    if increment is None:
        return None
    at, left = record.roles.index(role), float(record.settings.playclock)
    for step in record.steps:
        fault = step.faults.get(role)
        if fault is None or fault.cause == "player":
            left -= step.seconds[role]
        if step.moves[at].startswith("("):
            left += increment
    return max(0.0, left)


def faults_in_a_row(steps: Sequence[StepRecord], role: str) -> int:
    """How many of the last steps a player had a fault in; those that the game master caused are not looked at."""
    count = 0
    for step in reversed(steps):
        fault = step.faults.get(role)
        if fault is None:
            break
        count += fault.cause == "player"
    return count


def _out_of_time(record: MatchRecord) -> Verdict | None:
    if not record.steps:
        return None
    faults = record.steps[-1].faults
    lost = tuple(
        role
        for role, player in record.players.items()
        if player.increment is not None
        and (fault := faults.get(role)) is not None
        and (fault.kind, fault.cause) == ("timeout", "player")
    )
    return Verdict("forfeit", f"the time of {' and of '.join(lost)} is over", lost) if lost else None


def _forfeit(record: MatchRecord) -> Verdict | None:
    most = record.settings.forfeit_after
    lost = tuple(role for role in record.players if most and faults_in_a_row(record.steps, role) >= most)
    return Verdict("forfeit", f"{most} faults in a row of {' and '.join(lost)}", lost) if lost else None


def _adjudicated(record: MatchRecord) -> Verdict | None:
    """As match managers for chess do: both players have said the same for some steps."""
    settings, steps = record.settings, record.steps
    if len(record.players) != 2:
        return None
    for loser, winner in (tuple(record.players), tuple(record.players)[::-1]):
        expected = _expected(steps, settings.resign_steps, loser, winner)
        if expected and all(
            low <= settings.resign_value and high >= 100 - settings.resign_value for low, high in expected
        ):
            reason = f"both players have expected for {settings.resign_steps} steps that {loser} loses"
            return Verdict("adjudicated", reason, (loser,))
    expected = _expected(steps, settings.draw_steps, *record.players) if len(steps) >= settings.draw_from else ()
    if expected and all(abs(value - 50) <= settings.draw_value for values in expected for value in values):
        return Verdict("adjudicated", f"both players have expected a draw for {settings.draw_steps} steps", ())
    return None


def _expected(steps: Sequence[StepRecord], count: int, one: str, other: str) -> Sequence[tuple[float, float]]:
    """The values that both players expected in each of the last steps; none where one of them did not say."""
    if not 0 < count <= len(steps):
        return ()
    found: list[tuple[float, float]] = []
    for step in steps[-count:]:
        values = [
            said.value for role in (one, other) if (said := step.evaluations.get(role)) and said.value is not None
        ]
        if len(values) != 2:
            return ()
        found.append((values[0], values[1]))
    return found
