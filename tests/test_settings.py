"""Settings are declared once: what is derived from the declaration agrees with it, in the docs too.

`python -m tests.test_settings` writes the tables of the docs anew.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer
from annotated_types import Ge, Le
from pydantic import TypeAdapter
from typer.testing import CliRunner

from gamemaster.settings import MatchSettings
from gamemaster.web.settings import Limits
from ggp.commands.options import options_of, with_options
from ggp.env import EnvironmentSettings
from ggp.errors import SettingsError
from ggp.learning.settings import TrainingSettings
from ggp.search.mcts.settings import SearchSettings
from ggp.settings import About, Settings, declared, make, table
from players.settings import NO_OPTIONS, SERVICE_SETTINGS, PlayerSettings

DOCS = Path(__file__).parent.parent / "docs"
THINKING = frozenset(setting.name for setting in declared(PlayerSettings)) - SERVICE_SETTINGS
TABLES = {
    "environments": (DOCS / "environments.md", table(EnvironmentSettings, as_options=False)),
    "training": (DOCS / "learning.md", table(TrainingSettings)),
    "player": (DOCS / "players.md", table(PlayerSettings, leave_out=THINKING)),
    "thinking": (DOCS / "players.md", table(PlayerSettings, leave_out=SERVICE_SETTINGS)),
    "search": (DOCS / "players.md", table(SearchSettings, leave_out=NO_OPTIONS)),
    "match": (DOCS / "records.md", table(MatchSettings, as_options=False)),
    "serve": (DOCS / "pages.md", table(Limits)),
}  # the word in the comments around a table → where it is, and what it should be


@dataclass(frozen=True, slots=True)
class Example(Settings):
    share: Annotated[float, Ge(0), Le(1), About("how much of it", "parts")] = 0.5
    kind: Annotated[Literal["short", "long"], About("which of them")] = "short"
    is_quick: Annotated[bool, About("at once")] = True
    limit: Annotated[int, Ge(1), About("at most")] = 1000


def test_a_table_has_every_setting() -> None:
    assert table(Example) == (
        "| option | default | range | |\n|---|---|---|---|\n"
        "| `--share` | 0.5 | 0 to 1 | how much of it (parts) |\n"
        "| `--kind` | short | short or long | which of them |\n"
        "| `--is-quick`, `--no-is-quick` | on |  | at once |\n"
        "| `--limit` | 1,000 | ≥ 1 | at most |\n"
    )


def test_options_are_typed_and_left_out_where_not_given() -> None:
    seen: list[dict[str, Any]] = []

    def command(name: str, **settings: object) -> None:
        seen.append({"name": name, **settings})

    app = typer.Typer()
    app.command()(with_options(command, options_of(Example, leave_out={"limit"})))
    done = CliRunner().invoke(app, ["x", "--share", "0.25", "--no-is-quick"])
    assert done.exit_code == 0, done.output
    assert seen == [{"name": "x", "share": 0.25, "kind": None, "is_quick": False}]
    assert CliRunner().invoke(app, ["x", "--share", "1.5"]).exit_code == 2
    assert CliRunner().invoke(app, ["x", "--kind", "wide"]).exit_code == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"share": 2}, "at share: input should be less than or equal to 1, not 2"),
        ({"share": float("inf")}, "at share: input should be a finite number, not inf"),
        ({"kind": "wide"}, "at kind: input should be 'short' or 'long', not 'wide'"),
        ({"limit": True}, "at limit: input should be a valid integer, not True"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(given: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        make(Example, given, lambda name: f"at {name}")
    assert str(caught.value) == message


def test_pydantic_reads_the_same_declaration() -> None:
    schema = TypeAdapter(Example).json_schema()["properties"]
    assert (schema["share"]["description"], schema["share"]["maximum"], schema["share"]["unit"]) == (
        "how much of it",
        1,
        "parts",
    )
    assert TypeAdapter(Example).validate_json('{"share": 0.25}') == Example(share=0.25)
    with pytest.raises(ValueError, match="Unexpected"):
        TypeAdapter(Example).validate_json('{"other": 1}')


@pytest.mark.parametrize("word", TABLES)
def test_the_tables_of_the_docs_are_these(word: str) -> None:
    path, wanted = TABLES[word]
    assert _framed(word, wanted) in path.read_text(encoding="utf-8"), "run python -m tests.test_settings"


def _framed(word: str, text: str) -> str:
    return f"<!-- settings: {word} -->\n\n{text}\n<!-- end -->"


def _write_tables() -> None:
    for word, (path, wanted) in TABLES.items():
        text = path.read_text(encoding="utf-8")
        pattern = rf"<!-- settings: {word} -->.*?<!-- end -->"
        path.write_text(re.sub(pattern, lambda _: _framed(word, wanted), text, flags=re.DOTALL), encoding="utf-8")  # noqa: B023


if __name__ == "__main__":
    _write_tables()
