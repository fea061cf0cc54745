"""What the commands do: matches and records between files, terminal and network."""

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from gamemaster.bots import players_at
from gamemaster.concurrency import until_signal
from gamemaster.display import Display
from gamemaster.match import new_match_name, run_match
from gamemaster.player import PlayerAddress, parse_player
from gamemaster.record import MatchRecord, RecordWriter, read_record, record_path
from gamemaster.replay import Replayed, exported, replay
from gamemaster.settings import MatchSettings, make_settings
from ggp.boards import Layout, find_layout
from ggp.commands.shared import load_argument
from ggp.errors import GgpError, RecordError, SettingsError
from ggp.game import Game, load, load_text
from ggp.gdl.rulesheet import NATURE
from ggp.gdl.terms import to_text
from ggp.library import game_names

STDOUT = "-"


def run(game_name: str, players: Sequence[str], settings: Mapping[str, Any], wanted: str, *, as_json: bool) -> int:
    """Runs and shows a match as `ggp match` describes; the exit code."""
    checked = make_settings(**settings)
    addresses = [parse_player(text) for text in players]
    game = load_argument(game_name)
    takers = _takers(game, addresses)
    name = new_match_name("match" if checked.scramble else game.name)
    writer = RecordWriter(record_path(wanted, name))
    layout = Layout() if as_json else find_layout(game.rulesheet, game.machine, game.metadata.drawing)
    display = Display(_console(quiet=as_json), layout)
    try:
        code = asyncio.run(until_signal(_played(game, takers, checked, name, writer, display)))
    finally:
        display.close()
        if writer.has_written:
            display.record_at(writer.path)
    if as_json and writer.has_written:
        _print_json(_summary(read_record(writer.path), writer.path))
    return code


def show(path: Path, export: Path | None, *, as_json: bool) -> None:
    """Shows and verifies a record as `ggp replay` describes."""
    record = read_record(path)
    to_stdout = export == Path(STDOUT)
    is_quiet = as_json or to_stdout
    display = Display(_console(quiet=is_quiet), Layout() if is_quiet else _layout(record))
    display.head(record)
    states: list[Replayed] = []
    for replayed in replay(record):
        if replayed.step is not None:
            display.step(record, len(states) - 1)
        display.state(replayed.state)
        if replayed.step is None:
            display.start(record)
        states.append(replayed)
    display.end(record)
    display.say(f"the record holds: {len(record.steps)} steps replayed with the {record.engine}")
    if to_stdout:
        _print_json(exported(record, states))
        return
    if export is not None:
        _write(export, json.dumps(exported(record, states), indent=2) + "\n")
        display.say(f"exported to {export}")
    if as_json:
        _print_json(_summary(record, path) | {"states": [_facts(replayed) for replayed in states]})


async def _played(
    game: Game,
    takers: Mapping[str, PlayerAddress],
    settings: MatchSettings,
    name: str,
    writer: RecordWriter,
    display: Display,
) -> None:
    display.waiting("for the players to start")
    async with players_at(takers, settings.seed) as players:
        await run_match(game, players, settings, name, writer.write, display.watch)


def _takers(game: Game, addresses: Sequence[PlayerAddress]) -> dict[str, PlayerAddress]:
    """Role → who takes it."""
    roles = [role for role in game.roles if role != NATURE]
    if len(addresses) != len(roles):
        wanted = f"{len(roles)} players" if len(roles) != 1 else "1 player"
        raise SettingsError(f"{game.name} takes {wanted} ({', '.join(roles)}), not {len(addresses)}")
    urls = [address.place for address in addresses if not address.is_bot]
    twice = [url for url in urls if urls.count(url) > 1]
    if twice:
        raise SettingsError(f"the player at {twice[0]} cannot take two roles of one match")
    return dict(zip(roles, addresses, strict=True))


def _layout(record: MatchRecord) -> Layout:
    """How to draw the states; by its metadata, when the record is of a shipped game."""
    try:
        game = load_text(record.rulesheet, record.game, "interpreter")
    except GgpError:  # to replay the record says what is wrong with it
        return Layout()
    return find_layout(game.rulesheet, game.machine, _hints(record.game, game.rulesheet.sha256))


def _hints(name: str, sha256: str) -> Mapping[str, Any]:
    """The metadata on drawing of a shipped game, if these are its rules."""
    if name not in game_names():
        return {}
    shipped = load(name, "interpreter")
    return shipped.metadata.drawing if shipped.rulesheet.sha256 == sha256 else {}


def _summary(record: MatchRecord, path: Path) -> dict[str, Any]:
    fields = {"match", "game", "status", "reason", "goals"}
    faults = [
        {"step": number, "role": role, "kind": fault.kind, "detail": fault.detail, "answer": fault.answer}
        for number, role, fault in record.faults
    ]
    players = {role: player.name for role, player in record.players.items()}
    moves = [list(step.moves) for step in record.steps]
    own = record.model_dump(mode="json", include=fields)
    return own | {
        "roles": list(record.roles),
        "players": players,
        "moves": moves,
        "faults": faults,
        "record": str(path),
    }


def _facts(replayed: Replayed) -> list[str] | None:
    return None if replayed.state is None else sorted(map(to_text, replayed.state))


class _Console(Console):
    """A console whose end is not the end of a match."""

    def on_broken_pipe(self) -> None:
        """Writes nothing more; rich would end the process."""
        self.quiet = True
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until the process ends


def _console(*, quiet: bool) -> Console:
    return _Console(markup=False, highlight=False, emoji=False, quiet=quiet)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror or error}") from None


def _print_json(value: object) -> None:
    sys.stdout.write(json.dumps(value, indent=2) + "\n")
