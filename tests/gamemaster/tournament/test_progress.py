"""Progress: what is shown of a tournament, on a screen of any size and as plain lines; time is the test's own."""

import io
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.console import Console

from gamemaster.faults import make_fault
from gamemaster.match import Began, Ended, Started, Stepped
from gamemaster.tournament.pairings import Pairing, result_of
from gamemaster.tournament.progress import LineWriter, LiveProgress, PlainProgress, Tracker, duration
from gamemaster.tournament.runner import (
    Closed,
    MatchBegun,
    MatchEvent,
    MatchFailed,
    MatchFinished,
    News,
    NewsListener,
    Notice,
    Opened,
    SprtProgress,
)
from gamemaster.tournament.schedule import next_pairings
from gamemaster.tournament.spec import TournamentSpec
from gamemaster.tournament.venue import Job
from tests.gamemaster.tournament.events import spec
from tests.gamemaster.tournament.store_matches import a_record

NOON = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


class Teller:
    """News of an event in which matches are played one after the other, each a minute long."""

    def __init__(self, folder: Path, rounds: int = 2) -> None:
        self.now = 100.0
        self.spec: TournamentSpec = spec(folder, ["guessing"], ["ann=legal", "bob=random", "cat=legal"], rounds=rounds)
        self.pairings = next_pairings(self.spec, {"guessing": 2}, ())
        self.done = 0

    def clock(self) -> float:
        return self.now

    def job(self, pairing: Pairing, attempt: int = 1) -> Job:
        return Job(pairing, attempt, pairing.id, self.spec.settings_of("guessing", 1))

    def play(self, listen: NewsListener, goals: tuple[int, int] = (100, 0), **record: object) -> None:
        """The next match."""
        job = self.job(self.pairings[self.done])
        listen(MatchBegun(job))
        self.now += 60.0
        self.done += 1
        values = dict(zip(("white", "black"), goals, strict=True))
        played = a_record(job.pairing, 3, goals=values, **record)  # type: ignore[arg-type]
        listen(MatchFinished(job, result_of(job.pairing, played), self.done, len(self.pairings)))


@pytest.fixture
def teller(tmp_path: Path) -> Teller:
    return Teller(tmp_path)


def screen(live: LiveProgress, width: int = 100, height: int = 30) -> list[str]:
    """What is shown on a terminal of this size."""
    console = Console(width=width, height=height, file=io.StringIO(), force_terminal=True, color_system=None)
    lines = console.render_lines(live, console.options.update(height=height), pad=False)
    return ["".join(segment.text for segment in line).rstrip() for line in lines]


def test_what_runs_is_shown_with_its_clock(teller: Teller) -> None:
    live = LiveProgress(Console(), teller.clock)
    live.watch(Opened(teller.spec, (), 12))
    job = teller.job(teller.pairings[0])
    record = a_record(job.pairing, 0, status="running")
    said = []
    live.watch(MatchBegun(job))
    said.append(line_of(live))
    live.watch(MatchEvent(job, Began(record, frozenset())))
    teller.now += 2.0
    said.append(line_of(live))
    live.watch(MatchEvent(job, Started(record)))
    said.append(line_of(live))
    live.watch(MatchEvent(job, Stepped(a_record(job.pairing, 1, status="running"), None)))
    teller.now += 7.4
    said.append(line_of(live))
    live.watch(MatchEvent(job, Ended(a_record(job.pairing, 2))))
    said.append(line_of(live))
    players = " : ".join(job.pairing.players)
    assert said == [
        f"guessing starting 0 s {players}",
        f"guessing START 2 s of 5 s {players}",
        f"guessing step 0 0 s of 5 s {players}",
        f"guessing step 1 7 s of 5 s {players}",
        f"guessing terminal, 2 steps 0 s {players}",
    ]
    live.watch(MatchFinished(job, result_of(job.pairing, a_record(job.pairing, 2)), 1, 12))
    assert line_of(live) == ""


def line_of(live: LiveProgress) -> str:
    """The first line below `running`, its words."""
    lines = screen(live)
    return " ".join(lines[lines.index("running") + 1].split())


def test_a_screen_is_never_longer_or_wider_than_the_terminal(teller: Teller) -> None:
    live = LiveProgress(Console(), teller.clock, lambda: NOON)
    assert [line for line in screen(live) if line] == ["beginning"]
    live.watch(Opened(teller.spec, (), 12))
    for number in range(5):
        teller.play(live.watch)
        live.watch(Notice(f"line {number} " + "é漢字" * 50))
        live.watch(MatchBegun(teller.job(teller.pairings[number + 5])))
        for width, height in ((200, 60), (100, 30), (80, 24), (40, 12), (20, 5), (10, 1)):
            lines = screen(live, width, height)
            assert len(lines) <= height
            assert max(map(len, lines)) <= width


def test_lines_stay_where_they_are_when_matches_end(teller: Teller) -> None:
    live = LiveProgress(Console(), teller.clock)
    live.watch(Opened(teller.spec, (), 12))
    for number in range(3):
        live.watch(MatchBegun(teller.job(teller.pairings[number])))
    where = screen(live).index("standings")
    job = teller.job(teller.pairings[1])
    live.watch(MatchFailed(job, "no reason", 1))
    assert screen(live).index("standings") == where
    for number in range(3, 12):
        live.watch(MatchBegun(teller.job(teller.pairings[number])))
    lines = screen(live)
    assert lines[lines.index("standings") - 2] == "  and 5 more"


def test_the_pace_so_far_tells_the_end(teller: Teller) -> None:
    live = LiveProgress(Console(), teller.clock, lambda: NOON)
    live.watch(Opened(teller.spec, (), 12))
    assert screen(live)[2] == "for 0 s"
    for _ in range(3):
        teller.play(live.watch)
    assert screen(live)[1].endswith(" 3 of 12 done (25%)")
    assert screen(live)[2] == "for 3 min, 1.0 matches a minute, about 9 min left, until Sat 12:09"
    live.watch(SprtProgress(7, 1.234, -2.94, 2.94))
    assert screen(live)[3] == "log-likelihood ratio 1.23 of -2.94 to 2.94 after 7 pairs"


def test_results_of_before_count_in_the_table_and_not_in_the_pace(teller: Teller) -> None:
    earlier: list[News] = []
    for _ in range(4):
        teller.play(earlier.append)
    results = tuple(news.result for news in earlier if isinstance(news, MatchFinished))
    tracker = Tracker(teller.clock)
    tracker.take(Opened(teller.spec, results, 12))
    assert (tracker.done, tracker.before, tracker.seconds_left) == (4, 4, None)
    assert sum(score.matches for score in tracker.table) == 8
    teller.play(tracker.take)
    assert (tracker.done, tracker.seconds_left) == (5, 420.0)


def test_the_table_is_by_points(teller: Teller) -> None:
    tracker = Tracker(teller.clock)
    tracker.take(Opened(teller.spec, (), 12))
    wins = {"ann": 2, "bob": 0, "cat": 1}
    for pairing in teller.pairings:
        first, second = (wins[player] for player in pairing.players)
        goals = (50, 50) if pairing.round == 1 else (100, 0) if first > second else (0, 100)
        teller.play(tracker.take, goals)
    assert [(score.player, score.points, score.decided, score.mean_goal) for score in tracker.table] == [
        ("ann", 6.0, 8, 75.0),
        ("cat", 4.0, 8, 50.0),
        ("bob", 2.0, 8, 25.0),
    ]


def test_plain_lines(teller: Teller) -> None:
    lines: list[str] = []
    plain = PlainProgress(lines.append, teller.clock)
    plain.watch(Opened(teller.spec, (), 12))
    teller.play(plain.watch)
    fault = make_fault("timeout", "no complete answer within 6 s")
    teller.play(plain.watch, (0, 0), status="step limit", faults={0: {"black": fault}, 2: {"black": fault}})
    teller.now -= 30
    plain.watch(MatchFailed(teller.job(teller.pairings[2], 2), "the disk is full", 2))
    plain.watch(Notice("the bot of bob ended by signal 9"))
    plain.watch(Closed(""))
    first, second, third = teller.pairings[:3]
    assert lines == [
        "event: round robin, 3 players, guessing: 12 matches",
        f"[ 1/12] {first.id}: {first.players[0]} 100, {first.players[1]} 0; 3 steps, 3.0 s",
        "-- 1 of 12 done, 0 running; about 11 min left; " + f"{first.players[0]} 100%, {first.players[1]} 0%",
        f"[ 2/12] {second.id}: {second.players[0]} 0, {second.players[1]} 0; step limit, 3 steps, 3.0 s; "
        f"faults: {second.players[1]} timeout 2",
        lines[4],
        f"{third.id} failed by no fault of the players, attempt 2: the disk is full",
        "the bot of bob ended by signal 9",
        "all matches have been played",
    ]
    assert lines[4].startswith("-- 2 of 12 done, 0 running; about 10 min left; ")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (89.4, "89 s"), (91, "2 min"), (3590, "1 h 0 min"), (7500, "2 h 5 min"), (180_000, "2 d 2 h")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


class Stuck(io.StringIO):
    """Nobody reads."""

    def __init__(self) -> None:
        super().__init__()
        self.may_go_on = threading.Event()

    def write(self, text: str) -> int:
        assert self.may_go_on.wait(30)
        return super().write(text)


def test_lines_wait_for_no_reader() -> None:
    stream = Stuck()
    writer = LineWriter(stream)
    for number in range(1000):
        writer.write(str(number))
    stream.may_go_on.set()
    writer.close()
    assert stream.getvalue().split() == [str(number) for number in range(1000)]


def test_lines_that_nobody_can_read_are_dropped() -> None:
    tried: list[str] = []

    class Broken(io.StringIO):
        def write(self, text: str) -> int:
            tried.append(text)
            raise BrokenPipeError

    writer = LineWriter(Broken())
    writer.write("one")
    writer.write("two")
    writer.close()
    assert tried == ["one\n"]
    assert not writer._thread.is_alive()


def test_a_terminal_is_left_as_it_was(teller: Teller) -> None:
    file = io.StringIO()
    live = LiveProgress(Console(file=file, force_terminal=True, width=80, height=24), teller.clock)
    live.start()
    try:
        live.watch(Opened(teller.spec, (), 12))
        live.watch(Notice("the bot of bob ended by signal 9"))
    finally:
        live.stop()
    shown = file.getvalue()
    assert shown.endswith("the bot of bob ended by signal 9\n")
    assert shown.index("\x1b[?1049h") < shown.rindex("\x1b[?1049l")
    assert shown.rindex("\x1b[?25h") > shown.index("\x1b[?25l")
