"""A user's own code by its name: what is found, and one clear line with the place for everything that is wrong."""

import sys
from pathlib import Path

import pytest

from ggp.errors import SettingsError
from ggp.plugins import Plugin, load_plugin, parse_plugin, placed_plugin


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])


@pytest.mark.parametrize(
    ("text", "plugin"),
    [
        ("my_bot.py:Cautious", Plugin("my_bot.py", "Cautious")),
        ("../a b/my_bot.py:choose", Plugin("../a b/my_bot.py", "choose")),
        ("package.module:Cautious", Plugin("package.module", "Cautious")),
        ("bots:Cautious", Plugin("bots", "Cautious")),
        ("localhost:9147", None),
        ("192.0.2.7:9147", None),
        ("example.org:9147", None),
        ("my_bot.py", None),
        (".py:x", None),
        ("my_bot.py:not a name", None),
    ],
)
def test_a_plugin_is_told_from_an_address(text: str, plugin: Plugin | None) -> None:
    assert parse_plugin(text) == plugin
    assert plugin is None or str(plugin) == text


def test_a_file_without_a_name_is_no_address() -> None:
    with pytest.raises(SettingsError, match=r"'bots.py:': the name of a function or class is missing after the colon"):
        parse_plugin("bots.py:")


def test_a_file_is_placed_below_a_folder_and_nothing_else_is() -> None:
    assert placed_plugin("my_bot.py:C", Path("/event")) == "/event/my_bot.py:C"
    assert placed_plugin("/bots/my_bot.py:C", Path("/event")) == "/bots/my_bot.py:C"
    assert placed_plugin("package.module:C", Path("/event")) == "package.module:C"
    assert placed_plugin("mcts", Path("/event")) == "mcts"


def test_a_file_may_import_its_neighbours_and_stands_in_for_no_module(tmp_path: Path) -> None:
    (tmp_path / "helper_of_random.py").write_text("ANSWER = 42\n")
    (tmp_path / "random.py").write_text("from helper_of_random import ANSWER\n")
    assert load_plugin(Plugin("random.py", "ANSWER")) == 42
    from random import Random  # noqa: PLC0415 - that of Python

    assert Random(1).random() < 1


def test_a_file_is_run_once(tmp_path: Path) -> None:
    (tmp_path / "once.py").write_text("made = object()\n")
    assert load_plugin(Plugin("once.py", "made")) is load_plugin(Plugin(str(tmp_path / "once.py"), "made"))


def test_a_module_is_found_in_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "some_bots").mkdir()
    (tmp_path / "some_bots" / "cautious.py").write_text("class Cautious: ...\n")
    (tmp_path / "some_other_bots.py").write_text("last = 5\n")
    alone = parse_plugin("some_other_bots:last")
    assert alone is not None
    assert load_plugin(alone) == 5
    assert load_plugin(Plugin("some_bots.cautious", "Cautious")).__name__ == "Cautious"


@pytest.mark.parametrize(
    ("text", "name", "line"),
    [
        ("Cautious = 1\n", "Cautios", "bad.py: nothing there is called 'Cautios' (did you mean Cautious?)"),
        ("x = 1\nif\n", "x", "it cannot be imported: bad.py, line 2: SyntaxError: invalid syntax"),
        ("x = 1\n\ny = x / 0\n", "x", "it cannot be imported: bad.py, line 3: ZeroDivisionError: division by zero"),
        ("import nosuch", "x", "it cannot be imported: bad.py, line 1: ModuleNotFoundError: No module named 'nosuch'"),
        ("import json\njson.loads('{')", "x", "it cannot be imported: bad.py, line 2: JSONDecodeError: "),
        ("raise SystemExit(3)", "x", "it cannot be imported: bad.py, line 1: SystemExit: 3"),
        ("raise ValueError('one\\ntwo')", "x", "it cannot be imported: bad.py, line 1: ValueError: one"),
    ],
)
def test_what_is_wrong_is_told_in_one_line_with_its_place(tmp_path: Path, text: str, name: str, line: str) -> None:
    (tmp_path / "bad.py").write_text(text)
    with pytest.raises(SettingsError) as caught:
        load_plugin(Plugin("bad.py", name))
    assert str(caught.value).startswith(line)
    assert "\n" not in str(caught.value)


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(SettingsError, match=r"^absent.py: there is no such file$"):
        load_plugin(Plugin("absent.py", "x"))
    with pytest.raises(
        SettingsError, match=r"there is no module 'absent_package.module': 'absent_package' is not found"
    ):
        load_plugin(Plugin("absent_package.module", "x"))
    with pytest.raises(SettingsError, match=r"there is no module 'json.absent': 'json.absent' is not found"):
        load_plugin(Plugin("json.absent", "x"))
