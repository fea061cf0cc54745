"""A specification → how many players each game takes; what only the rules can tell is checked here."""

from pathlib import Path

import ggp
from gamemaster.tournament.spec.models import GameSpec, TournamentSpec
from gamemaster.tournament.spec.reading import mistake_at, read_text
from ggp.errors import GgpError, SettingsError
from ggp.gdl.rulesheet import NATURE

_FOR_TWO = ("swiss", "knock-out")


def check_spec(spec: TournamentSpec, path: Path | None = None) -> dict[str, int]:
    """Game → how many players it takes; loads every game, by the interpreter, which is quick.

    SettingsError where a game cannot be loaded or does not suit the format or the players; it names the line when
    `path` is the file that the specification was read from.
    """
    roles: dict[str, int] = {}
    for number, game in enumerate(spec.games):
        try:
            roles[game.name] = _players_of(game)
            problem = unsuitable(spec, roles[game.name])
        except GgpError as error:
            problem = str(error)
        if problem:
            raise mistake_at(_where(path), _text_of(path), ("games", number, "rules"), problem)
    return roles


def unsuitable(spec: TournamentSpec, roles: int) -> str | None:
    """What is wrong with a game for so many players in this tournament; None when nothing is."""
    players = len(spec.players)
    if roles == 0:
        return "the game takes no players"
    if spec.format in _FOR_TWO and roles != 2:
        return f"a {spec.format} takes games for two players, and this one takes {roles}"
    if spec.sprt is not None and roles != 2:
        return f"an SPRT takes games for two players, and this one takes {roles}"
    if roles > players:
        return f"the game takes {roles} players, and there {'is' if players == 1 else 'are'} {players}"
    return None


def _players_of(game: GameSpec) -> int:
    loaded = ggp.load(game.rules, "interpreter")
    assert loaded.initial_state is not None  # EvaluationError where the rules give none
    return sum(role != NATURE for role in loaded.roles)


def _where(path: Path | None) -> str:
    return "" if path is None else str(path)


def _text_of(path: Path | None) -> str | None:
    """The text that the line is looked up in; it may be gone by now."""
    try:
        return None if path is None else read_text(path)
    except SettingsError:
        return None
