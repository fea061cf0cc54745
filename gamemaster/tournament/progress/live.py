"""A tournament on a terminal: one screen of a fixed height, drawn twice a second."""

import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from threading import Lock

from rich.cells import set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from gamemaster.tournament.progress.plain import headline, test_text
from gamemaster.tournament.progress.tracker import Clock, Running, Score, Tracker, duration
from gamemaster.tournament.runner import News

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

    def _running_line(self, running: Running, cell: int) -> Text:
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
