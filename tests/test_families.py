"""Families of games: parameters, what is written, and what is refused in one clear line."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import ggp
from ggp.commands import make_app
from ggp.errors import SettingsError
from ggp.families import family_names, find_family, generate
from ggp.library import read_metadata


def run(*arguments: str) -> Result:
    return CliRunner().invoke(make_app(), ["generate", *arguments])


@pytest.mark.parametrize("name", family_names())
def test_each_family_writes_a_game_with_its_usual_parameters(name: str) -> None:
    family = find_family(name)
    assert family.summary.endswith(".")
    assert family.parameters
    for one in family.parameters.values():
        assert one.read(str(one.default)) == one.default
    assert ggp.load_text(generate(name, {}).rules, name, "interpreter").roles


def test_a_game_is_written_to_files(tmp_path: Path) -> None:
    path = tmp_path / "small.kif"
    assert run("nim", "--heaps", "1,2", "-o", str(path)).exit_code == 0
    game = ggp.load(str(path), "interpreter")
    assert game.initial_state.legal_moves("first") == ("(reduce 1 0)", "(reduce 2 0)", "(reduce 2 1)")
    assert read_metadata(path).family == {"name": "nim", "parameters": {"heaps": "1,2"}}
    assert run("nim", "--heaps=1,2").stdout == path.read_text(encoding="utf-8")


def test_families_are_listed() -> None:
    assert "--heaps" in run().stdout


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("nym", {}, r"no family is called 'nym' \(did you mean nim\?\)"),
        ("nim", {"heap": "3"}, r"no parameter 'heap' \(did you mean heaps\?\)"),
        ("nim", {"heaps": "3;4"}, "heaps is '3;4', not objects in each heap"),
    ],
)
def test_what_is_refused(name: str, given: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        generate(name, given)


@pytest.mark.parametrize(
    "arguments", [("nim", "heaps"), ("nim", "--heaps"), ("nim", "-o", "nim.txt"), ("nim", "--x=1")]
)
def test_mistakes_on_the_command_line(arguments: tuple[str, ...]) -> None:
    assert isinstance(run(*arguments).exception, SettingsError)
