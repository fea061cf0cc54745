"""A match as lines for a person: in colour on a terminal, plain elsewhere."""

from pathlib import Path

from rich.console import Console
from rich.status import Status
from rich.text import Text

from gamemaster.faults import Fault, escaped
from gamemaster.match import Began, Ended, Event, Started, Stepped
from gamemaster.record import MatchRecord, StepRecord
from ggp.boards import Layout, TextLine, make_picture, picture_lines
from ggp.boards.text import WIDTH
from ggp.commands.shared import can_redraw, styled
from ggp.gdl.rulesheet import NATURE
from ggp.gdl.state_machine import Facts
from ggp.protocol.evaluation import Evaluation

NOBODY = "game master"  # who plays the role `random`

_INDENT = "    "
PICTURE_WIDTH = WIDTH - len(_INDENT)  # characters of a line
_DIM = "dim"
_MOVE = "bold"
_FAULT = "bold red"
_HEADING = "bold cyan"
_GOAL = "bold green"


class Display:
    """Shows one match on a console; the layout says what states look like that come without a picture."""

    def __init__(self, console: Console, layout: Layout | None = None) -> None:
        self._console = console
        self._layout = layout or Layout()
        self._status: Status | None = None

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is shown."""
        return self._console.quiet

    @property
    def can_redraw(self) -> bool:
        """Whether the last line can say what is being waited for."""
        return can_redraw(self._console)

    def watch(self, event: Event) -> None:
        """Shows a match as it goes; on a terminal the last line says what is being waited for."""
        self._wait_no_more()
        match event:
            case Began(record, state, picture):
                self.head(record)
                self.state(state, picture)
                self.waiting(f"for START, up to {record.settings.startclock} s")
            case Started(record):
                self.start(record)
                self.waiting(f"for step 0, up to {record.settings.playclock} s")
            case Stepped(record, state, picture):
                self.step(record, len(record.steps) - 1)
                self.state(state, picture)
                self.waiting(f"for step {len(record.steps)}, up to {record.settings.playclock} s")
            case Ended(record):
                self.end(record)

    def head(self, record: MatchRecord) -> None:
        """Game, clocks and players."""
        settings = record.settings
        clocks = f"startclock {settings.startclock} s, playclock {settings.playclock} s, grace {settings.grace:g} s"
        scrambled = ", scrambled" if settings.scramble else ""
        self._line((record.game, _HEADING), f"  match {record.match}")
        self._line((f"{clocks}, seed {settings.seed}{scrambled}", _DIM))
        if record.opening:
            self._line((f"after {'; '.join(' '.join(moves) for moves in record.opening)}", _DIM))
        for role in record.roles:
            who = record.players.get(role)
            place = "" if who is None else f"bot at {who.url}" if who.bot else who.url
            self._line("  ", self._role(record, role), (f"  {place}", _DIM))

    def start(self, record: MatchRecord) -> None:
        """What the players made of START."""
        if not record.start:
            return
        self._line("")
        self._line(("START", _HEADING))
        for role, start in record.start.items():
            line = Text.assemble("  ", self._role(record, role), f"  {start.seconds:7.2f} s  ")
            self._line(line, _fault(start.fault) if start.fault else start.answer or "")

    def step(self, record: MatchRecord, number: int) -> None:
        """Who moved what in how long, and why not; then what the player expects, with `=` where that is proven."""
        step = record.steps[number]
        self._line("")
        self._line((f"step {number}", _HEADING))
        for role, move in zip(record.roles, step.moves, strict=True):
            self._line(
                "  ", self._role(record, role), *_timed(step, role), *_expected(step, role), (f"  {move}", _MOVE)
            )
            if role in step.faults:
                self._line("    ", _fault(step.faults[role]), (f"; {move} was executed instead", _DIM))

    def state(self, state: Facts | None, picture: tuple[TextLine, ...] | None = None) -> None:
        """Its picture; one is made where it has none yet."""
        if picture is None and state is not None:
            picture = picture_lines(make_picture(self._layout, state), PICTURE_WIDTH)
        for line in styled(picture or ()):
            self._line(_INDENT, line)

    def end(self, record: MatchRecord) -> None:
        """How the match ended, the goal values, and all faults once more, those that are alike together."""
        steps = _count(len(record.steps), "step")
        self._line("")
        self._line((f"end after {steps}: {_ending(record)}", _HEADING))
        for role in record.absent:
            self._line("  ", self._role(record, role), ("  never reached", _FAULT))
        for role, goal in (record.goals or {}).items():
            value = "no single goal value" if goal is None else str(goal)
            mark = "  forfeited" if role in record.forfeited else ""
            self._line("  ", self._role(record, role), (f"  {value:>3}", _GOAL), (mark, _FAULT))
        self._line((_count(len(record.faults), "fault"), _FAULT if record.faults else _DIM))
        for (role, fault), numbers in _alike(record).items():
            self._line("  ", self._role(record, role), f"  {_steps(numbers)}  ", _fault(fault))

    def record_at(self, path: Path) -> None:
        self._line((f"record: {path}", _DIM))

    def say(self, text: str) -> None:
        self._line(text)

    def close(self) -> None:
        """Leaves the terminal as it was, however the match ended."""
        self._wait_no_more()

    def _role(self, record: MatchRecord, role: str) -> Text:
        players = (record.players.get(each) for each in record.roles)
        names = [escaped(player.name) if player else NOBODY for player in players]
        roles = list(map(escaped, record.roles))
        name = names[record.roles.index(role)]
        return Text(f"{escaped(role):{max(map(len, roles))}}  {name:{max(map(len, names))}}")

    def waiting(self, what: str) -> None:
        """Says on the last line of a terminal what is being waited for, until there is more to show."""
        self._wait_no_more()
        if self.can_redraw:
            self._status = self._console.status(Text(f"waiting {what}", style=_DIM), refresh_per_second=4)
            self._status.start()

    def _wait_no_more(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def _line(self, *parts: str | Text | tuple[str, str]) -> None:
        """Of these parts; strings may come from a record of anybody's, so that they are escaped."""
        line = Text.assemble(*map(_printable, parts))
        line.rstrip()
        try:
            self._console.print(line, soft_wrap=True)
        except OSError:  # nobody looks any more, or the disk is full: the match goes on, and its record with it
            self._console.quiet = True


def _printable(part: str | Text | tuple[str, str]) -> str | Text | tuple[str, str]:
    match part:
        case str():
            return escaped(part)
        case (text, style):
            return escaped(text), style
        case _:
            return part


def _timed(step: StepRecord, role: str) -> tuple[str | tuple[str, str], ...]:
    if role == NATURE:
        return (" " * 11,)
    return ("  ", (f"{step.seconds.get(role, 0.0):7.2f} s", _DIM))


def _expected(step: StepRecord, role: str) -> tuple[tuple[str, str], ...]:
    """A column, in steps where at least one player said what it thinks."""
    if not step.evaluations:
        return ()
    return ((f"  {_value(step.evaluations.get(role)):>4}", _DIM),)


def _value(evaluation: Evaluation | None) -> str:
    if evaluation is None or evaluation.value is None:
        return ""
    return f"{'=' if evaluation.is_proven else ''}{evaluation.value:.0f}"


def _fault(fault: Fault) -> Text:
    answered = "" if fault.answer is None else f" {fault.answer}"
    answered += "" if fault.cause == "player" else f" by the {fault.cause}"
    return Text.assemble((escaped(f"{fault.kind}{answered}"), _FAULT), escaped(f": {fault.detail}"))


def _alike(record: MatchRecord) -> dict[tuple[str, Fault], list[int | None]]:
    """Role and fault → the steps of the record in which it came; None for START."""
    found: dict[tuple[str, Fault], list[int | None]] = {}
    for number, role, fault in record.faults:
        found.setdefault((role, fault), []).append(number)
    return found


def _steps(numbers: list[int | None]) -> str:
    """`START`, `step 4`, `steps 0–3, 7`."""
    runs: list[list[int]] = []
    for number in numbers:
        if number is None:
            continue
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    texts = [str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs]
    steps = [f"step{'' if len(runs) == len(runs[0]) == 1 else 's'} {', '.join(texts)}"] if runs else []
    return ", ".join((["START"] if None in numbers else []) + steps)


def _ending(record: MatchRecord) -> str:
    match record.status:
        case "terminal":
            return "the state is terminal"
        case "running":
            return "the match was going on when this was recorded"
        case status:
            return f"{status}: {record.reason}"


def _count(number: int, thing: str) -> str:
    return f"{number or 'no'} {thing}{'' if number == 1 else 's'}"
