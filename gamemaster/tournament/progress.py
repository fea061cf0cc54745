"""How a tournament is shown as it goes: a full screen on a terminal, plain lines elsewhere."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from queue import SimpleQueue
from threading import Lock, Thread
from typing import TextIO

from rich.cells import set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from gamemaster.match import Began, Ended, Event, Started, Stepped
from gamemaster.tournament.pairings import MatchResult
from gamemaster.tournament.runner import (
    Closed,
    MatchBegun,
    MatchEvent,
    MatchFailed,
    MatchFinished,
    News,
    Notice,
    Opened,
    SprtProgress,
)
from gamemaster.tournament.spec import TournamentSpec
from gamemaster.tournament.venue import Job

KEPT = 100  # lines about what happened lately, and as many about what went wrong

Clock = Callable[[], float]


@dataclass(slots=True)
class RunningMatch:
    """A match under way."""

    job: Job
    since: float  # when what is being waited for was asked
    doing: str = "starting"
    allowed: float = 0.0  # seconds for it; 0 where no clock runs


@dataclass(slots=True)
class Score:
    """What a player has come to; a match is decided as standings say."""

    player: str
    matches: int = 0
    decided: int = 0
    wins: int = 0
    draws: int = 0
    goals: int = 0  # goal values, summed
    goal_count: int = 0
    faults: int = 0

    @property
    def points(self) -> float:
        return self.wins + self.draws / 2

    @property
    def share(self) -> float:
        """Of the points that there were, from 0 to 1; where nothing was decided, of the goal values."""
        return self.points / self.decided if self.decided else self.mean_goal / 100

    @property
    def mean_goal(self) -> float:
        return self.goals / self.goal_count if self.goal_count else 0.0


@dataclass(slots=True)
class Tracker:
    """Takes news one by one."""

    clock: Clock = time.monotonic
    spec: TournamentSpec | None = None
    opened: float = 0.0
    before: int = 0  # results that were there when it was opened
    done: int = 0
    expected: int = 0
    running: dict[str, RunningMatch] = field(
        default_factory=dict
    )  # by the ids of pairings, in the order of their beginnings
    scores: dict[str, Score] = field(default_factory=dict)
    test: SprtProgress | None = None
    lately: deque[str] = field(default_factory=lambda: deque(maxlen=KEPT))  # lines, the newest at the end
    troubles: deque[str] = field(default_factory=lambda: deque(maxlen=KEPT))  # those lines that are not about results
    closed: str | None = None

    def take(self, news: News) -> None:
        match news:
            case Opened(spec, results, expected):
                self._open(spec, results, expected)
            case MatchBegun(job):
                self.running[job.pairing.id] = RunningMatch(job, self.clock())
            case MatchEvent(job, event):
                self._watch(self.running.get(job.pairing.id), event)
            case MatchFinished(job, result, done, expected):
                self.running.pop(job.pairing.id, None)
                self.done, self.expected = done, expected
                self._count(result)
                self.lately.append(result_text(result))
            case MatchFailed(job, _, _):
                self.running.pop(job.pairing.id, None)
                self._trouble(failure_text(news))
            case SprtProgress():
                self.test = news
            case Notice(text):
                self._trouble(text)
            case Closed(note):
                self.closed = note

    @property
    def seconds(self) -> float:
        """Since it was opened."""
        return self.clock() - self.opened

    @property
    def seconds_left(self) -> float | None:
        """As long as the matches go on to end as often as they did since it was opened; None while that is unknown."""
        finished = self.done - self.before
        return self.seconds / finished * max(0, self.expected - self.done) if finished else None

    @property
    def table(self) -> list[Score]:
        """The best first; equal ones in the order of the specification."""
        return sorted(self.scores.values(), key=lambda score: (-score.share, -score.points, -score.mean_goal))

    def _open(self, spec: TournamentSpec, results: Iterable[MatchResult], expected: int) -> None:
        self.spec = spec
        self.opened = self.clock()
        self.expected = expected
        self.scores = {player.name: Score(player.name) for player in spec.players}
        for result in results:
            self._count(result)
            self.done += 1
        self.before = self.done

    def _trouble(self, line: str) -> None:
        self.lately.append(line)
        self.troubles.append(line)

    def _watch(self, running: RunningMatch | None, event: Event) -> None:
        if running is None:
            return
        running.since = self.clock()
        settings = running.job.settings
        match event:
            case Began():
                running.doing, running.allowed = "START", settings.startclock
            case Started():
                running.doing, running.allowed = "step 0", settings.playclock
            case Stepped(record):
                running.doing, running.allowed = f"step {len(record.steps)}", settings.playclock
            case Ended(record):
                running.doing, running.allowed = f"{record.status}, {len(record.steps)} steps", 0.0

    def _count(self, result: MatchResult) -> None:
        goals = [goal for goal in result.goals if goal is not None]
        is_decided = len(goals) == len(result.goals) > 1
        highest = max(goals, default=0)
        for player, goal, faults in zip(result.pairing.players, result.goals, result.faults, strict=True):
            score = self.scores[player]
            score.matches += 1
            score.faults += sum(faults.values())
            if goal is not None:
                score.goals += goal
                score.goal_count += 1
            if is_decided:
                score.decided += 1
                score.wins += goal == highest and goals.count(highest) == 1
                score.draws += goal == highest and goals.count(highest) > 1


def result_text(result: MatchResult) -> str:
    """`r001-…: a 100, b 0; 9 steps, 12.3 s`, and what was wrong."""
    goals = ", ".join(
        f"{player} {'–' if goal is None else goal}"
        for player, goal in zip(result.pairing.players, result.goals, strict=True)
    )
    seconds = (result.finished - result.started).total_seconds()
    faults = [
        f"{player} {' '.join(f'{kind} {count}' for kind, count in kinds.items())}"
        for player, kinds in zip(result.pairing.players, result.faults, strict=True)
        if kinds
    ]
    named = dict(zip(result.roles, result.pairing.players, strict=True))
    who = " of " + " and ".join(named[role] for role in result.forfeited) if result.forfeited else ""
    ending = "" if result.ending == "terminal" else f"{result.ending}{who}, "
    blame = f"; faults: {', '.join(faults)}" if faults else ""
    return f"{result.pairing.id}: {goals}; {ending}{result.steps} steps, {seconds:.1f} s{blame}"


def failure_text(news: MatchFailed) -> str:
    if news.is_void:
        return f"{news.job.pairing.id} is void, attempt {news.failures}: {news.reason}; it is played again"
    return f"{news.job.pairing.id} failed by no fault of the players, attempt {news.failures}: {news.reason}"


def duration(seconds: float) -> str:
    """`45 s`, `12 min`, `3 h 5 min`, `2 d 4 h`."""
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{seconds:.0f} s"
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h"


SUMMARY_EVERY = 60.0  # seconds
SHOWN = 5  # players in a summary


class PlainProgress:
    """Writes lines about the news that it is given."""

    def __init__(self, write: Callable[[str], None], clock: Clock | None = None) -> None:
        self._write = write
        self._tracker = Tracker() if clock is None else Tracker(clock)
        self._summarised = 0.0

    def watch(self, news: News) -> None:
        tracker = self._tracker
        tracker.take(news)
        match news:
            case Opened(spec):
                self._write(headline(spec, tracker.before, tracker.expected))
            case MatchFinished(_, _, done, expected):
                self._write(f"[{done:>{len(str(expected))}}/{expected}] {tracker.lately[-1]}")
            case MatchFailed() | Notice():
                self._write(tracker.lately[-1])
            case Closed(note):
                self._write(note or "all matches have been played")
                return
        if tracker.seconds >= self._summarised + SUMMARY_EVERY:
            self._summarised = tracker.seconds
            self._write(summary(tracker))


def headline(spec: TournamentSpec, done: int, expected: int) -> str:
    """What is about to be played."""
    games = spec.games[0].name if len(spec.games) == 1 else f"{len(spec.games)} games"
    before = f", {done} of them already" if done else ""
    return f"{spec.name}: {spec.format}, {len(spec.players)} players, {games}: {expected} matches{before}"


def summary(tracker: Tracker) -> str:
    """How it stands, in a line."""
    left = tracker.seconds_left
    parts = [
        f"{tracker.done} of {tracker.expected} done, {len(tracker.running)} running",
        "" if left is None else f"about {duration(left)} left",
        ", ".join(f"{score.player} {score.share:.0%}" for score in tracker.table[:SHOWN] if score.matches),
        test_text(tracker),
    ]
    return f"-- {'; '.join(part for part in parts if part)}"


def test_text(tracker: Tracker) -> str:
    """How the sequential test stands; empty where there is none."""
    test = tracker.test
    if test is None:
        return ""
    return f"log-likelihood ratio {test.llr:.2f} of {test.lower:.2f} to {test.upper:.2f} after {test.pairs} pairs"


LAST_WAIT = 5.0  # seconds for which the last lines are waited for


class LineWriter:
    """Writes lines in order; once the stream cannot be written, nothing more."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lines: SimpleQueue[str | None] = SimpleQueue()
        self._thread = Thread(target=self._write_all, name="lines", daemon=True)
        self._thread.start()

    def write(self, line: str) -> None:
        self._lines.put(line)

    def close(self) -> None:
        """Waits until all is written, but not for long."""
        self._lines.put(None)
        self._thread.join(LAST_WAIT)

    def _write_all(self) -> None:
        is_open = True
        while (line := self._lines.get()) is not None:
            if not is_open:
                continue
            try:
                self._stream.write(f"{line}\n")
                self._stream.flush()
            except (OSError, ValueError):  # the reader is gone, the disk is full, or it is closed
                is_open = False


REFRESH = 2  # times a second
HEAD = 9  # lines for the head, for three titles and for what is empty between
LEAST_LATELY = 3  # lines for what happened lately, as long as there is any room
NAME_WIDTH = 24  # at most, and a quarter of the screen
LATE = 1.0  # seconds beyond clock and grace after which a match is marked

_DIM = "dim"
_HEADING = "bold cyan"
_GOOD = "bold green"
_WARNING = "bold red"


def _local_time() -> datetime:
    return datetime.now().astimezone()


class LiveProgress:
    """Shows the news that it is given; a thread draws, so that a slow terminal keeps no match waiting."""

    def __init__(
        self, console: Console, clock: Clock = time.monotonic, now: Callable[[], datetime] = _local_time
    ) -> None:
        self._tracker = Tracker(clock)
        self._now = now
        self._lock = Lock()  # over the tracker
        self._most_running = 1
        self._live = Live(get_renderable=lambda: self, console=console, screen=True, refresh_per_second=REFRESH)

    def watch(self, news: News) -> None:
        with self._lock:
            self._tracker.take(news)
            self._most_running = max(self._most_running, len(self._tracker.running))

    def start(self) -> None:
        self._live.start()

    def stop(self) -> None:
        """Leaves the terminal as it was, and what went wrong to be read on it."""
        self._live.stop()
        for line in self._tracker.troubles:
            self._live.console.print(Text(line), soft_wrap=True)

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> RenderResult:
        with self._lock:
            lines = self._lines(options.max_width, options.height or options.size.height)
        for line in lines:
            line.truncate(options.max_width, overflow="ellipsis")
            yield line

    def _lines(self, width: int, height: int) -> list[Text]:
        """As many as the screen has; those that run keep their lines when they are over."""
        tracker = self._tracker
        if tracker.spec is None:
            return [Text("beginning", _DIM)]
        room = max(3, height - HEAD)
        running_room = min(self._most_running, max(1, room // 3))
        table_room = min(len(tracker.scores), max(1, room - running_room - LEAST_LATELY))
        lately = list(tracker.lately)[-(room - running_room - table_room) :]
        cell = min(NAME_WIDTH, width // 4)
        running = [self._running_line(running, cell) for running in tracker.running.values()]
        table = [_score_line(place, score, cell) for place, score in enumerate(tracker.table, 1)]
        lines = [
            Text(headline(tracker.spec, tracker.before, tracker.expected), _HEADING),
            self._bar(width),
            self._pace(),
            Text(test_text(tracker), _DIM),
            *_block("running", running, running_room),
            Text(),
            *_block("standings", table, table_room),
            Text(),
            *_block("lately", [Text(f"  {line}", _DIM) for line in lately], len(lately)),
        ]
        return lines[:height]

    def _bar(self, width: int) -> Text:
        tracker = self._tracker
        share = min(1.0, tracker.done / tracker.expected) if tracker.expected else 0.0
        text = f" {tracker.done} of {tracker.expected} done ({share:.0%})"
        length = max(10, min(60, width - len(text)))
        full = round(share * length)
        return Text.assemble(("━" * full, _GOOD), ("━" * (length - full), _DIM), text)

    def _pace(self) -> Text:
        tracker = self._tracker
        parts = [f"for {duration(tracker.seconds)}"]
        left = tracker.seconds_left
        if left is not None:
            pace = 60 * (tracker.done - tracker.before) / max(tracker.seconds, 1.0)
            end = self._now() + timedelta(seconds=left)
            parts += [f"{pace:.1f} matches a minute", f"about {duration(left)} left, until {end:%a %H:%M}"]
        return Text(", ".join(parts), _DIM)

    def _running_line(self, running: RunningMatch, cell: int) -> Text:
        pairing, allowed = running.job.pairing, running.allowed
        waited = self._tracker.clock() - running.since
        clock = f"{waited:.0f} s of {allowed:.0f} s" if allowed else f"{waited:.0f} s"
        is_late = allowed and waited > allowed + running.job.settings.grace + LATE
        again = f", attempt {running.job.attempt}" if running.job.attempt > 1 else ""
        return Text.assemble(
            f"  {set_cell_size(pairing.game, cell)}  {running.doing:12}  ",
            (f"{clock:>16}", _WARNING if is_late else ""),
            f"  {' : '.join(pairing.players)}{again}",
        )


def _block(title: str, rows: Sequence[Text], room: int) -> list[Text]:
    """A title and so many lines below it; where there are more rows, the last line says how many."""
    shown = list(rows[:room])
    if len(rows) > room > 1:
        shown[-1] = Text(f"  and {len(rows) - room + 1} more", _DIM)
    return [Text(title, _HEADING), *shown, *(Text() for _ in range(room - len(shown)))]


def _score_line(place: int, score: Score, cell: int) -> Text:
    return Text.assemble(
        f"{place:>4}  {set_cell_size(score.player, cell)}  ",
        (f"{score.share:>4.0%}", _GOOD),
        f"  {score.points:g} points of {score.decided}, mean goal {score.mean_goal:.1f}",
        (f", {score.faults} faults", _WARNING) if score.faults else "",
    )
