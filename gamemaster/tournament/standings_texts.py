"""Standings → JSON, CSV, and text for a terminal or a file; the same standings give the same bytes."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.cells import cell_len

from gamemaster.faults import shown
from gamemaster.tournament.ratings import Estimate
from gamemaster.tournament.standings import GameTable, PlayerStanding, Standings, Tally

FORMAT = 1  # of the JSON; raised by every change after which older readers would misread it
DIGITS = 4  # after the point, in JSON and CSV
GAP = "  "
CSV_COLUMNS = (
    "game",
    "rank",
    "player",
    "matches",
    "wins",
    "draws",
    "losses",
    "points",
    "mean_goal",
    "rating",
    "rating_low",
    "rating_high",
    "skill",
    "skill_low",
    "skill_high",
)


def as_json(standings: Standings) -> str:
    """Everything; `docs/tournaments.md` says what the fields mean."""
    values = {"format": FORMAT, **asdict(standings)}
    values["superiority"] = {
        player: {other: standings.ratings.superiority(player, other) for other in standings.ratings.players}
        for player in standings.ratings.players
    }
    return json.dumps(_rounded(values), indent=2, ensure_ascii=False) + "\n"


def as_csv(standings: Standings) -> str:
    """A line for each player and game, and before these one for each player with an empty game: all games together."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for game, lines in (("", standings.lines), *((table.game, table.lines) for table in standings.games)):
        for line in lines:
            tally = line.tally
            counts = (tally.matches, tally.wins, tally.draws, tally.losses, _number(tally.points))
            numbers = (_number(tally.mean_goal), *_numbers(line.rating), *_numbers(line.skill))
            writer.writerow((game, line.rank, line.player, *counts, *numbers))
    return text.getvalue()


def as_text(standings: Standings) -> str:
    """Tables that are aligned in a font of fixed width."""
    parts = [_lines_text(standings.lines)]
    if len(standings.games) > 1:
        parts += [f"{_title(table)}\n{_lines_text(table.lines)}" for table in standings.games]
    if standings.meetings:
        parts.append(f"wins, draws and losses against each other\n{_cross_text(standings)}")
    if standings.games:
        parts.append(f"roles\n{_roles_text(standings)}")
    parts.append(f"time and faults\n{_conduct_text(standings)}")
    return "\n".join(parts)


def _title(table: GameTable) -> str:
    return f"{table.game}: {table.matches} matches"


def _lines_text(lines: Sequence[PlayerStanding]) -> str:
    heads = ["rank", "player", "rating", "95 %", "skill", "matches", "won", "drawn", "lost", "points", "mean goal"]
    rows = [
        [
            str(line.rank),
            line.player,
            _elo(line.rating),
            _margin(line.rating),
            _elo(line.skill),
            str(line.tally.matches),
            *_counts(line.tally),
            f"{line.tally.points:g}",
            _goal(line.tally, line.goal),
        ]
        for line in lines
    ]
    return _aligned(heads, rows, left=(1,))


def _cross_text(standings: Standings) -> str:
    players = [player for player in standings.players if player in standings.ratings.players]
    cells = {
        (meeting.player, meeting.opponent): f"{meeting.wins}-{meeting.draws}-{meeting.losses}"
        for meeting in standings.meetings
    }
    numbers = {player: str(number) for number, player in enumerate(players, 1)}
    heads = ["", "player", *(numbers[player] for player in players)]
    rows = [
        [numbers[player], player, *("·" if player == other else cells.get((player, other), "") for other in players)]
        for player in players
    ]
    return _aligned(heads, rows, left=(1,))


def _roles_text(standings: Standings) -> str:
    heads = ["game", "role", "matches", "won", "drawn", "lost", "mean goal", "advantage", "95 %"]
    rows = [
        [
            role.game,
            role.role,
            str(role.tally.matches),
            *_counts(role.tally),
            _goal(role.tally, None),
            _elo(role.advantage),
            _margin(role.advantage),
        ]
        for table in standings.games
        for role in table.roles
    ]
    return _aligned(heads, rows, left=(0, 1))


def _conduct_text(standings: Standings) -> str:
    kinds = sorted({kind for conduct in standings.conduct for kind in conduct.faults})
    marks = {"forfeits": "forfeited", "absences": "never reached"}
    shown_marks = [mark for mark in marks if any(getattr(conduct, mark) for conduct in standings.conduct)]
    heads = ["player", "seconds", "a step", "slowest", "faults", *kinds, *(marks[mark] for mark in shown_marks)]
    rows = [
        [
            conduct.player,
            f"{conduct.seconds:.1f}",
            f"{conduct.seconds / conduct.steps:.3f}" if conduct.steps else "",
            f"{conduct.longest:.3f}",
            str(sum(conduct.faults.values())),
            *(str(conduct.faults.get(kind, 0)) for kind in kinds),
            *(str(getattr(conduct, mark)) for mark in shown_marks),
        ]
        for conduct in standings.conduct
    ]
    return _aligned(heads, rows, left=(0,))


def _aligned(heads: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[int]) -> str:
    """A line for the heads and one for each row; columns are to the right but for those of `left`."""
    table = [heads, *([shown(cell) for cell in row] for row in rows)]
    widths = [max(map(cell_len, column)) for column in zip(*table, strict=True)]
    lines = []
    for row in table:
        cells = []
        for number, (cell, width) in enumerate(zip(row, widths, strict=True)):
            blanks = " " * (width - cell_len(cell))
            cells.append(cell + blanks if number in left else blanks + cell)
        lines.append(GAP.join(cells).rstrip())
    return "\n".join(lines) + "\n"


def _counts(tally: Tally) -> tuple[str, str, str]:
    if tally.matches and not tally.decided:
        return "", "", ""
    return str(tally.wins), str(tally.draws), str(tally.losses)


def _elo(estimate: Estimate | None) -> str:
    return "" if estimate is None else f"{round(estimate.value):+d}"


def _margin(estimate: Estimate | None) -> str:
    return "" if estimate is None else f"±{(estimate.high - estimate.low) / 2:.0f}"


def _goal(tally: Tally, estimate: Estimate | None) -> str:
    if tally.mean_goal is None:
        return ""
    return f"{tally.mean_goal:.1f}" + (f" ({estimate.low:.1f}–{estimate.high:.1f})" if estimate else "")


def _numbers(estimate: Estimate | None) -> tuple[str, str, str]:
    if estimate is None:
        return "", "", ""
    return _number(estimate.value), _number(estimate.low), _number(estimate.high)


def _number(value: float | None) -> str:
    return "" if value is None else repr(_rounded(value))


def _rounded(value: Any) -> Any:  # noqa: ANN401 - whatever JSON can hold
    """The same with all fractions rounded; keys are texts and never -0.0 comes out."""
    if isinstance(value, float):
        return round(value, DIGITS) + 0.0
    if isinstance(value, Mapping):
        return {key: _rounded(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(part) for part in value]
    return value
