"""Specifications, pairings and records for tests of the store; records are sound but were never played."""

import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from gamemaster.faults import Fault
from gamemaster.record import MatchRecord, PlayerRecord, StartRecord, Status, StepRecord
from gamemaster.settings import MatchSettings, derived
from gamemaster.tournament.pairings import Pairing
from gamemaster.tournament.spec import GameSpec, PlayerSpec, TournamentSpec

BEGAN = datetime(2026, 1, 31, 17, 45, 0, 250_001, tzinfo=UTC)
RULES = "; a rulesheet is only text to a store\n(role white)\n(role black)\n"
ROLES = ("white", "black")


def a_spec(name: str = "cup", players: Sequence[str] = ("ann", "bob")) -> TournamentSpec:
    taking = tuple(PlayerSpec(name=player, bot="random") for player in players)
    return TournamentSpec(name=name, seed=7, games=(GameSpec(rules="board.kif"),), players=taking)


def a_pairing(number: int = 0, players: tuple[str, ...] = ("ann", "bob"), game: str = "board") -> Pairing:
    name = f"r001-{game}-{number:05}"
    return Pairing(name, 0, game, players, derived(7, name), f"g{number // 2}")


def a_record(
    pairing: Pairing,
    steps: int = 9,
    *,
    status: Status = "terminal",
    goals: Mapping[str, int | None] | None = None,
    faults: Mapping[int, Mapping[str, Fault]] | None = None,  # step → role → fault
    rules: str = RULES,
) -> MatchRecord:
    """A record of its own match each time, of a game with as many roles as the pairing has players."""
    roles = ROLES if len(pairing.players) == 2 else tuple(f"role{number}" for number in range(len(pairing.players)))
    is_over = status not in ("running", "aborted")
    return MatchRecord(
        ggp="0",
        match=pairing.id,
        token=secrets.token_hex(16),
        game=pairing.game,
        rulesheet=rules,
        rulesheet_sha256="0" * 64,
        engine="circuit",
        roles=roles,
        players={
            role: PlayerRecord(name=player, url=f"http://192.0.2.{number + 1}:9147/")
            for number, (role, player) in enumerate(zip(roles, pairing.players, strict=True))
        },
        settings=MatchSettings(seed=pairing.seed % 2**63),
        started=BEGAN,
        start={role: StartRecord(seconds=0.0123, answer="ready") for role in roles},
        status=status,
        reason="given up" if status == "aborted" else None,
        goals=(dict(goals) if goals is not None else dict.fromkeys(roles, 50)) if is_over else None,
        finished=None if status == "running" else BEGAN + timedelta(seconds=steps),
        steps=tuple(_step(number, roles, (faults or {}).get(number, {})) for number in range(steps)),
    )


def _step(number: int, roles: Sequence[str], faults: Mapping[str, Fault]) -> StepRecord:
    return StepRecord(
        moves=tuple(f"(mark {number % 3 + 1} {index + 1})" for index in range(len(roles))),
        seconds={role: round(0.1 * number + 0.0137 * index, 4) for index, role in enumerate(roles)},
        faults=dict(faults),
        time=BEGAN + timedelta(seconds=number),
    )
