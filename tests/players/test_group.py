"""The group `ggp player`: a command for each strategy, all with the same options, and room for others."""

from collections.abc import Collection

import pytest
import typer
from typer.testing import CliRunner, Result

from ggp.errors import SettingsError
from players.commands import add_commands
from players.settings import PLAYERS, PlayerSettings
from players.strategies import STRATEGIES


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple[PlayerSettings, str, int]]:
    """What would have been run."""
    seen: list[tuple[PlayerSettings, str, int]] = []

    async def serve(
        settings: PlayerSettings, host: str, port: int, *, announce: bool, origins: Collection[str], forked: None
    ) -> None:
        seen.append((settings, host, port))

    monkeypatch.setattr("players.service.serve", serve)
    return seen


def invoke(*arguments: str) -> Result:
    app = typer.Typer()
    app.callback()(lambda: None)
    add_commands(app)
    [group] = app.registered_groups
    assert group.typer_instance is not None
    group.typer_instance.command("other")(lambda: None)
    return CliRunner().invoke(app, ["player", *arguments], env={"COLUMNS": "250", "TERM": "dumb"})


def test_every_strategy_has_its_command() -> None:
    assert list(PLAYERS) == list(STRATEGIES)
    text = invoke("--help").output
    assert all(summary in text for summary in PLAYERS.values())


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_each_is_run_with_its_options(strategy: str, served: list[tuple[PlayerSettings, str, int]]) -> None:
    done = invoke(strategy, "--port", "7", "--seed", "3", "--threads", "2", "--no-ponder")
    assert done.exit_code == 0, done.output
    [(settings, host, port)] = served
    assert (settings.strategy, settings.seed, settings.search.threads, settings.ponder) == (strategy, 3, 2, False)
    assert (host, port) == ("127.0.0.1", 7)


def test_options_may_stand_before_the_name(served: list[tuple[PlayerSettings, str, int]]) -> None:
    assert invoke("--port", "7", "--name", "x", "--no-ponder", "legal", "--name", "y").exit_code == 0
    [(settings, _, port)] = served
    assert (settings.strategy, settings.name, settings.ponder, port) == ("legal", "y", False, 7)


@pytest.mark.parametrize("origin", ["https://GGP.example:8080", "*", "null"])
def test_pages_may_be_named(origin: str, served: list[tuple[PlayerSettings, str, int]]) -> None:
    done = invoke("random", "--allow-origin", origin)
    assert done.exit_code == 0, done.output
    assert len(served) == 1


@pytest.mark.parametrize("origin", ["foo", "https://ggp.example/", "ggp.example", ""])
def test_what_is_no_origin_is_refused(origin: str, served: list[tuple[PlayerSettings, str, int]]) -> None:
    done = invoke("random", "--allow-origin", origin)
    assert isinstance(done.exception, SettingsError)
    assert str(done.exception).startswith("--allow-origin: scheme, host and port of a page")
    assert not served


def test_only_mcts_shows_the_options_of_its_search() -> None:
    assert "--exploration" in invoke("mcts", "--help").output
    assert "--exploration" not in invoke("random", "--help").output
    assert "--margin" in invoke("random", "--help").output


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("deepblue",), "No such command 'deepblue'"),
        (("mtcs",), "Did you mean 'mcts'?"),
        ((), "Missing command"),
        (("--port", "7", "other"), "No player is run by other, so its options stand after it"),
        (("random", "--fast"), "No such option: --fast"),
    ],
)
def test_mistakes_are_told(arguments: tuple[str, ...], line: str) -> None:
    done = invoke(*arguments)
    assert done.exit_code == 2
    assert line in done.output
