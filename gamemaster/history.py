"""A record as objects: steps with the states before and after them, plain rows, tables, a page to click through."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from gamemaster.faults import Fault
from gamemaster.record import MatchRecord, read_record, record_json
from gamemaster.replay import replay
from ggp.errors import RecordError, SettingsError
from ggp.game import Game, State, load, load_text
from ggp.library import game_names
from ggp.protocol.evaluation import Evaluation

if TYPE_CHECKING:
    from ggp.boards import Frame


@dataclass(frozen=True, slots=True)
class Step:
    """One joint move of a match; everything by role is without `random` but the moves."""

    number: int  # from 0
    state: State = field(repr=False)  # in which it was made
    moves: Mapping[str, str]  # as executed
    after: State = field(repr=False)
    seconds: Mapping[str, float]  # that each answer took
    faults: Mapping[str, Fault]  # of roles whose answer was not used: their move is a replacement
    evaluations: Mapping[str, Evaluation] = field(repr=False)  # of roles whose players said what they think


class Record:
    """The record of a match; `for step in record` gives its steps, each checked against the rules.

    RecordError, with the step, at the first thing that does not hold, or where the rules gave no state.
    """

    def __init__(self, data: MatchRecord) -> None:
        self.data = data  # every field of the file

    @property
    def match(self) -> str:
        """Its name."""
        return self.data.match

    @property
    def roles(self) -> tuple[str, ...]:
        return self.data.roles

    @property
    def players(self) -> dict[str, str]:
        """Role → the name of its player."""
        return {role: player.name for role, player in self.data.players.items()}

    @property
    def goals(self) -> dict[str, int | None] | None:
        """Role → goal value; None where the match came to no end."""
        return None if self.data.goals is None else dict(self.data.goals)

    @property
    def status(self) -> str:
        """How it ended, such as `terminal`; `running` where it has not."""
        return self.data.status

    @property
    def faults(self) -> tuple[tuple[int | None, str, Fault], ...]:
        """All faults as (step, role, fault); the step is None for START."""
        return self.data.faults

    @cached_property
    def game(self) -> Game:
        """By the interpreter, with the metadata of a shipped game that has these rules."""
        data = self.data
        game = load_text(data.rulesheet, data.game, "interpreter")
        if data.game in game_names():
            shipped = load(data.game, "interpreter")
            if shipped.rulesheet.sha256 == data.rulesheet_sha256:
                return shipped
        return game

    @cached_property
    def states(self) -> tuple[State, ...]:
        """From the first to the last: one more than there are steps."""
        found: list[State] = []
        for replayed in replay(self.data):
            if replayed.state is None:
                raise RecordError(f"{self.match}: the rules gave no state after {len(found)} steps")
            found.append(State(self.game, replayed.state))
        return tuple(found)

    def __len__(self) -> int:
        return len(self.data.steps)

    def __iter__(self) -> Iterator[Step]:
        return (self[number] for number in range(len(self)))

    def __getitem__(self, number: int) -> Step:
        number = range(len(self))[number]  # IndexError, and numbers from the end
        step, states = self.data.steps[number], self.states
        moves = dict(zip(self.roles, step.moves, strict=True))
        before, after = states[number], states[number + 1]
        return Step(number, before, moves, after, step.seconds, step.faults, step.evaluations)

    def rows(self) -> list[dict[str, Any]]:
        """A row for each step and player: plain values, None where nothing is known. The rules are not asked."""
        found = []
        for number, step in enumerate(self.data.steps):
            for at, role in enumerate(self.roles):
                fault, said = step.faults.get(role), step.evaluations.get(role)
                found.append(
                    {
                        "match": self.match,
                        "game": self.data.game,
                        "step": number,
                        "role": role,
                        "player": self.players.get(role),
                        "move": step.moves[at],
                        "seconds": step.seconds.get(role),
                        "fault": None if fault is None else fault.kind,
                        "value": None if said is None else said.value,
                        "lower": None if said is None else said.lower,
                        "upper": None if said is None else said.upper,
                        "visits": None if said is None else said.visits,
                        "goal": None if self.goals is None else self.goals.get(role),
                    }
                )
        return found

    def to_pandas(self) -> Any:  # noqa: ANN401 - of a package that may be absent
        """The rows as a pandas DataFrame; SettingsError where pandas is not installed."""
        return as_pandas(self.rows())

    def to_arrow(self) -> Any:  # noqa: ANN401 - likewise
        """The rows as a pyarrow Table; SettingsError where pyarrow is not installed."""
        return as_arrow(self.rows())

    def save(self, path: Path | str) -> None:
        """As the file that `ggp replay` and `load_record` read; RecordError where it cannot be written."""
        try:
            Path(path).write_text(record_json(self.data), encoding="utf-8")
        except OSError as error:
            raise RecordError(f"{path}: {error.strerror or error}") from None

    def frames(self) -> "list[Frame]":
        """Every state with a caption: the moves that led there."""
        from ggp.boards import Frame, make_picture  # noqa: PLC0415 - only to draw

        captions = ["start", *(_caption(number, step.moves) for number, step in enumerate(self.data.steps))]
        return [
            Frame(caption, make_picture(self.game.layout, state.terms))
            for caption, state in zip(captions, self.states, strict=True)
        ]

    def html(self) -> str:
        """The match as a part of a page, with buttons: no scripts, and nothing from elsewhere."""
        from ggp.boards import picture_style, picture_svg  # noqa: PLC0415 - only to draw

        name = "m" + sha256(f"{self.match} {self.data.token}".encode()).hexdigest()[:10]
        shown = self.frames()
        frames = Markup("").join(
            _frame(name, number, len(shown), caption, _ours(picture_svg(picture, has_style=False)))
            for number, (caption, picture) in enumerate(shown)
        )
        head = ", ".join(f"{role}: {player}" for role, player in self.players.items())
        ended = "" if self.goals is None else " – " + ", ".join(f"{role} {goal}" for role, goal in self.goals.items())
        page = Markup('<div class="ggp-match" id="{}"><style>{}</style><p><b>{}</b> {}{}</p>{}</div>')
        style = _ours(picture_style() + _PLAYER_STYLE.replace("ID", name))
        return str(page.format(name, style, self.data.game, head, ended, frames))

    def _repr_html_(self) -> str:
        """In a notebook."""
        return self.html()

    def __repr__(self) -> str:
        return f"Record({self.match!r}, {len(self)} steps, {self.status}, goals={self.goals})"


def load_record(path: Path | str) -> Record:
    """The record in a file, whole or growing; RecordError with the place of what is wrong."""
    return Record(read_record(Path(path)))


def read_frames(path: Path) -> "list[Frame]":
    """Every state of the record in a file, for `ggp draw --record`; errors as `load_record` and `Record`."""
    return load_record(path).frames()


def as_pandas(rows: list[dict[str, Any]]) -> Any:  # noqa: ANN401 - of a package that may be absent
    """A DataFrame; SettingsError where pandas is not installed."""
    try:
        import pandas as pd  # noqa: PLC0415 - optional
    except ImportError:
        raise SettingsError("pandas is not installed; `rows()` needs no other package") from None
    return pd.DataFrame(rows)


def as_arrow(rows: list[dict[str, Any]]) -> Any:  # noqa: ANN401 - likewise
    """A pyarrow Table; SettingsError where pyarrow is not installed."""
    try:
        import pyarrow as pa  # noqa: PLC0415 - optional
    except ImportError:
        raise SettingsError("pyarrow is not installed; `rows()` needs no other package") from None
    return pa.Table.from_pylist(rows)


_PLAYER_STYLE = (
    "#ID input{position:absolute;opacity:0}#ID .frame{display:none}#ID input:checked+.frame{display:block}"
    "#ID label{display:inline-block;padding:0 .6em;margin-right:.3em;border:1px solid #8b949e;border-radius:4px;"
    "cursor:pointer}#ID svg{max-width:420px;height:auto;display:block}"
)


def _ours(text: str) -> Markup:
    """What was written here, with what others said escaped already."""
    return Markup(text)  # noqa: S704


def _frame(name: str, number: int, count: int, caption: str, svg: Markup) -> Markup:
    """A state that is shown while its radio button is chosen; the labels choose others."""
    targets = (("⏮", 0), ("◀", max(0, number - 1)), ("▶", min(count - 1, number + 1)), ("⏭", count - 1))
    titles = ("first", "back", "on", "last")
    buttons = Markup("").join(
        Markup('<label for="{}-{}" title="{}">{}</label>').format(name, target, title, sign)
        for (sign, target), title in zip(targets, titles, strict=True)
    )
    checked = Markup(" checked") if number == 0 else Markup("")
    return Markup(
        '<input type="radio" name="{}" id="{}-{}"{}><div class="frame"><div>{}<span>{} of {}: {}</span></div>{}</div>'
    ).format(name, name, number, checked, buttons, number, count - 1, caption, svg)


def _caption(number: int, moves: tuple[str, ...]) -> str:
    return f"step {number}: {', '.join(moves)}"
