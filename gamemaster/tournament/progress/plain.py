"""A tournament as plain lines: one for each match that has ended, and a summary every minute."""

from collections.abc import Callable

from gamemaster.tournament.progress.tracker import Clock, Tracker, duration
from gamemaster.tournament.runner import Closed, Failed, Finished, News, Opened, Told
from gamemaster.tournament.spec import TournamentSpec

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
            case Finished(_, _, done, expected):
                self._write(f"[{done:>{len(str(expected))}}/{expected}] {tracker.lately[-1]}")
            case Failed() | Told():
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
