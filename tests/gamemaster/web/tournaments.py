"""Tournaments for tests of pages: records that replay, of a match that was played once, under other names."""

import secrets
import tempfile
from dataclasses import replace
from pathlib import Path
from random import Random

import ggp
from gamemaster.record import MatchRecord
from gamemaster.tournament.pairings import Pairing
from gamemaster.tournament.schedule import next_pairings
from gamemaster.tournament.spec import GameSpec, PlayerSpec, TournamentSpec
from gamemaster.tournament.store import Manager
from tests.gamemaster.matches import play
from tests.gamemaster.scripted import ScriptedPlayer

NAME = "cup"


def a_tournament(rounds: int = 2, players: tuple[str, ...] = ("ann", "bob", "cyd")) -> TournamentSpec:
    taking = tuple(PlayerSpec(name=player, bot="random") for player in players)
    return TournamentSpec(name=NAME, rounds=rounds, games=(GameSpec(rules="tictactoe"),), players=taking)


def pairings_of(spec: TournamentSpec) -> tuple[Pairing, ...]:
    return next_pairings(spec, {"tictactoe": 2}, ())


def renamed(record: MatchRecord, pairing: Pairing) -> MatchRecord:
    """The same match between others."""
    names = dict(zip(record.roles, pairing.players, strict=True))
    players = {role: player.model_copy(update={"name": names[role]}) for role, player in record.players.items()}
    return record.model_copy(update={"match": pairing.id, "token": secrets.token_hex(16), "players": players})


def finish(manager: Manager, record: MatchRecord, pairing: Pairing) -> None:
    manager.begin(pairing)
    manager.finish(pairing, renamed(record, pairing))


def growing(record: MatchRecord, steps: int) -> MatchRecord:
    """The record as it was after so many steps; its clocks are long, as it counts as given up when they are over."""
    running = {"steps": record.steps[:steps], "status": "running", "goals": None, "finished": None}
    return record.model_copy(update={**running, "settings": replace(record.settings, startclock=3600, playclock=3600)})


async def played(seed: int) -> MatchRecord:
    """A match of tic-tac-toe between players that move at random."""
    game = ggp.load("tictactoe", "interpreter")
    rng = Random(seed)
    state, moves = game.initial_state, []
    while not state.is_terminal:
        moves.append({role: rng.choice(state.legal_moves(role)) for role in game.roles})
        state = state.play(moves[-1])
    scripts = [ScriptedPlayer(moves={step: move[role] for step, move in enumerate(moves)}) for role in game.roles]
    with tempfile.TemporaryDirectory() as folder:
        async with scripts[0], scripts[1]:
            return await play(game, dict(zip(game.roles, scripts, strict=True)), Path(folder))


async def a_finished_match() -> MatchRecord:
    """Of tic-tac-toe; xplayer wins."""
    game = ggp.load("tictactoe", "interpreter")
    with tempfile.TemporaryDirectory() as folder:
        async with ScriptedPlayer() as xplayer, ScriptedPlayer() as oplayer:
            return await play(game, {"xplayer": xplayer, "oplayer": oplayer}, Path(folder))
