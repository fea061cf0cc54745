"""News of a tournament → how it stands: what is running, done and left, and the table so far; a few numbers only."""

import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from gamemaster.events import Began, Ended, Event, Started, Stepped
from gamemaster.tournament.results import Result
from gamemaster.tournament.runner import (
    Begun,
    Closed,
    Compared,
    Failed,
    Finished,
    News,
    Opened,
    Told,
    Watched,
)
from gamemaster.tournament.spec import TournamentSpec
from gamemaster.tournament.workshop import Job

KEPT = 100  # lines about what happened lately, and as many about what went wrong

Clock = Callable[[], float]


@dataclass(slots=True)
class Running:
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
    running: dict[str, Running] = field(
        default_factory=dict
    )  # by the ids of pairings, in the order of their beginnings
    scores: dict[str, Score] = field(default_factory=dict)
    test: Compared | None = None
    lately: deque[str] = field(default_factory=lambda: deque(maxlen=KEPT))  # lines, the newest at the end
    troubles: deque[str] = field(default_factory=lambda: deque(maxlen=KEPT))  # those lines that are not about results
    closed: str | None = None

    def take(self, news: News) -> None:
        match news:
            case Opened(spec, results, expected):
                self._open(spec, results, expected)
            case Begun(job):
                self.running[job.pairing.id] = Running(job, self.clock())
            case Watched(job, event):
                self._watch(self.running.get(job.pairing.id), event)
            case Finished(job, result, done, expected):
                self.running.pop(job.pairing.id, None)
                self.done, self.expected = done, expected
                self._count(result)
                self.lately.append(result_text(result))
            case Failed(job, _, _):
                self.running.pop(job.pairing.id, None)
                self._trouble(failure_text(news))
            case Compared():
                self.test = news
            case Told(text):
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

    def _open(self, spec: TournamentSpec, results: Iterable[Result], expected: int) -> None:
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

    def _watch(self, running: Running | None, event: Event) -> None:
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

    def _count(self, result: Result) -> None:
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


def result_text(result: Result) -> str:
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
    ending = "" if result.ending == "terminal" else f"{result.ending}, "
    blame = f"; faults: {', '.join(faults)}" if faults else ""
    return f"{result.pairing.id}: {goals}; {ending}{result.steps} steps, {seconds:.1f} s{blame}"


def failure_text(news: Failed) -> str:
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
