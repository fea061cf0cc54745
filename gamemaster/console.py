"""What the commands do: matches and records between files, terminal and network."""

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from gamemaster.bots import players_at
from gamemaster.concurrency import until_signal
from gamemaster.display import PICTURE_WIDTH, Display
from gamemaster.evaluator import RULES_BYTES, Evaluator, RulesheetSource, find_source, load_rules
from gamemaster.match import new_match_name, run_match
from gamemaster.player import PlayerAddress, check_names, parse_player
from gamemaster.record import MatchRecord, RecordWriter, read_record, record_path
from gamemaster.referee import check_opening
from gamemaster.replay import ForeignRecord, Replayed, exported, read_foreign, replay
from gamemaster.settings import MatchSettings, make_settings
from ggp.boards import Layout, find_layout
from ggp.commands.shared import STDIN, read_stdin
from ggp.errors import GgpError, RecordError, SettingsError
from ggp.game import load, load_text
from ggp.gdl.reader import decode
from ggp.gdl.rulesheet import NATURE
from ggp.gdl.terms import to_text
from ggp.library import game_names

STDOUT = "-"
EXIT_UNPLAYED = 1  # a match that came to no result


def run(
    game_name: str, players: Sequence[str], settings: Mapping[str, Any], wanted: str, opening: str, *, as_json: bool
) -> int:
    """Runs and shows a match as `ggp match` describes; the exit code."""
    checked = make_settings(**settings)
    addresses = [parse_player(text) for text in players]
    source = replace(_source(game_name), opening=check_opening(opening))
    name = new_match_name("match" if checked.scramble else source.name)
    path = record_path(wanted, name)
    _check_replaceable(path)
    writer = RecordWriter(path)
    display = Display(_console(quiet=as_json))
    try:
        code = asyncio.run(until_signal(_played(source, addresses, checked, name, writer, display)))
    finally:
        display.close()
        if writer.has_written:
            display.record_at(writer.path)
    record = read_record(writer.path) if writer.has_written else None
    if as_json and record is not None:
        _print_json(_summary(record, writer.path))
    is_unplayed = record is not None and record.status in ("broken", "void")
    return code or (EXIT_UNPLAYED if is_unplayed else 0)


def show(path: Path, export: Path | None, *, as_json: bool) -> None:
    """Shows and verifies a record as `ggp replay` describes."""
    foreign = read_foreign(path)
    if foreign is not None:
        if export is not None:
            raise RecordError(f"{path}: it is in the form of ggp-base already, so there is nothing to export")
        _show_foreign(foreign, as_json=as_json)
        return
    record = read_record(path)
    to_stdout = export == Path(STDOUT)
    if export is not None and not to_stdout:
        _check_writable(export)
        if export.exists() and export.samefile(path):
            raise RecordError(f"{export}: it is the record itself, which --export would replace")
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
    source: RulesheetSource,
    addresses: Sequence[PlayerAddress],
    settings: MatchSettings,
    name: str,
    writer: RecordWriter,
    display: Display,
) -> None:
    async with AsyncExitStack() as stack:
        evaluator = Evaluator(RULES_BYTES)
        stack.push_async_callback(evaluator.close)
        rules = await load_rules(evaluator, source)
        rules.wants_states, rules.width = not display.is_quiet, 0 if display.is_quiet else PICTURE_WIDTH
        wanted = _wanted(source.name, rules.game.roles, addresses)
        _say_starting(display)
        bots = players_at(wanted, settings.seed, lambda said: _say_starting(display, f": {said}"), _warn)
        players = await stack.enter_async_context(bots)
        await run_match(rules, players, settings, name, writer.write, display.watch)


def _say_starting(display: Display, how_far: str = "") -> None:
    """On the last line of a terminal, else on standard error: it may take minutes, and there is no match yet."""
    waiting = f"for the players to start{how_far}"
    display.waiting(waiting)
    if not display.is_quiet and not display.can_redraw:
        _warn(f"ggp: waiting {waiting}")


def _warn(said: str) -> None:
    """On standard error, so that JSON stays what it is."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(said, markup=False)


def _source(game: str) -> RulesheetSource:
    if game != STDIN:
        return find_source(game)
    return RulesheetSource("<stdin>", decode(read_stdin(), "<stdin>"), place="<stdin>")


def _wanted(game: str, all_roles: Sequence[str], addresses: Sequence[PlayerAddress]) -> dict[str, PlayerAddress]:
    """Role → who takes it."""
    roles = [role for role in all_roles if role != NATURE]
    if len(addresses) != len(roles):
        wanted = f"{len(roles)} players" if len(roles) != 1 else "1 player"
        raise SettingsError(f"{game} takes {wanted} ({', '.join(roles)}), not {len(addresses)}")
    urls = [address.place for address in addresses if not address.is_bot]
    twice = [url for url in urls if urls.count(url) > 1]
    if twice:
        raise SettingsError(f"the player at {twice[0]} cannot take two roles of one match")
    found = dict(zip(roles, addresses, strict=True))
    bots = [address.name for address in addresses if address.is_bot]
    check_names(bots, {f"player of {role}": one.name for role, one in found.items() if not one.is_bot})
    return found


def _show_foreign(record: ForeignRecord, *, as_json: bool) -> None:
    """All that such a record says; without rules there is nothing to verify."""
    if as_json:
        _print_json({"form": "ggp-base", "is_verified": False} | asdict(record))
        return
    say = _console(quiet=False).print
    say(f"{record.game or 'no game is named'}  match {record.match}", soft_wrap=True)
    width = max(map(len, record.players), default=0)
    for number, codes in enumerate([(), *record.moves]):
        say("\nSTART" if number == 0 else f"\nstep {number - 1}")
        errors = record.errors[number] if number < len(record.errors) else ()
        for index, player in enumerate(record.players):
            parts = (player.ljust(width), *codes[index : index + 1], *errors[index : index + 1])
            say("  " + "  ".join(part for part in parts if part), soft_wrap=True)
    say(f"\nend after {len(record.moves)} steps: {record.status}")
    for player, goal in zip(record.players, record.goals, strict=False):
        say(f"  {player.ljust(width)}  {goal:>3}")
    say("a record in the form of ggp-base; it has no rules, so nothing was verified")


def _layout(record: MatchRecord) -> Layout:
    """How to draw the states; by its metadata, when the record is of a shipped game."""
    if record.is_exhausted:
        return Layout()  # its rules are not asked more than need be
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
    fields = {"match", "game", "status", "reason", "goals", "forfeited", "absent"}
    faults = [
        {"step": number, "role": role}
        | {"kind": fault.kind, "detail": fault.detail, "answer": fault.answer, "cause": fault.cause}
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


def _check_replaceable(path: Path) -> None:
    """RecordError where there is a file that is no record, such as the rulesheet; an empty file holds nothing."""
    if not path.is_file() or not path.stat().st_size:
        return
    try:
        read_record(path)
    except RecordError:
        raise RecordError(f"{path}: it exists and is no match record, so --record does not replace it") from None


def _check_writable(path: Path) -> None:
    """RecordError where no file can be written; leaves things as they were."""
    is_new = not path.exists()
    try:
        with path.open("ab"):
            pass
        if is_new:
            path.unlink()
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror or error}") from None


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror or error}") from None


def _print_json(value: object) -> None:
    sys.stdout.write(json.dumps(value, indent=2) + "\n")
