"""The sequential test of a tournament: results one by one, and whether it may stop."""

from gamemaster.tournament.ratings.sprt import bounds, log_likelihood_ratio, sprt_of
from gamemaster.tournament.results import Result
from gamemaster.tournament.runner.news import Compared
from gamemaster.tournament.spec import SprtSpec, TournamentSpec


class SequentialTest:
    """Counts the pairs of matches of two players; keeps only the results whose partners are missing."""

    def __init__(self, spec: TournamentSpec, sprt: SprtSpec) -> None:
        self._sprt = sprt
        self._first, self._second = (player.name for player in spec.players)
        self._pairs = [0] * 5
        self._halves: dict[str, Result] = {}

    def add(self, result: Result) -> Compared | None:
        """How the test stands, when the result completes a pair."""
        half = self._halves.pop(result.pairing.group, None)
        if half is None:
            self._halves[result.pairing.group] = result
            return None
        sprt = self._sprt
        pair = sprt_of((half, result), sprt.elo0, sprt.elo1, sprt.alpha, sprt.beta, player=self._first).pairs
        self._pairs = [before + new for before, new in zip(self._pairs, pair, strict=True)]
        ratio = log_likelihood_ratio(self._pairs, sprt.elo0, sprt.elo1)
        return Compared(sum(self._pairs), ratio, *bounds(sprt.alpha, sprt.beta))

    def verdict(self, tested: Compared) -> str:
        """What was found out, as one line; empty as long as it is open."""
        if tested.lower < tested.llr < tested.upper:
            return ""
        elo1, elo0 = f"{self._sprt.elo1:g}", f"{self._sprt.elo0:g}"
        holds, other = (elo1, elo0) if tested.llr >= tested.upper else (elo0, elo1)
        return (
            f"{self._first} is stronger than {self._second} by {holds} Elo rather than {other}: "
            f"log-likelihood ratio {tested.llr:.2f} after {tested.pairs} pairs of matches"
        )
