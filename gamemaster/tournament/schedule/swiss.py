"""Swiss: in each round those meet who have about as many points and have not met, as far as there is a way."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain

from gamemaster.tournament.results import Pairing, Result
from gamemaster.tournament.schedule.matching import pair_up
from gamemaster.tournament.schedule.meetings import Names, Numbered, round_of_meetings
from gamemaster.tournament.schedule.points import WIN, points

_MATCHES = 2  # of two players who meet, in each game


class Swiss:
    """A Swiss tournament under way.

    The order of the players in the specification is their seeding; it decides between equal points. Those of a group
    with as many points meet so that its upper half plays its lower half; whoever is left over plays the highest of the
    next group. With an odd number of players, the lowest of those with the fewest byes does not play, which counts as
    a win of every match. Nobody meets the same one again as long as a round without that exists, whoever has the bye;
    after that nobody meets the same one more often than need be, and those who have met less often go first.
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        self._players = [player.name for player in names.spec.players]
        self._points = dict.fromkeys(self._players, 0)
        self._byes: Counter[str] = Counter()
        self._met: dict[str, Counter[str]] = {name: Counter() for name in self._players}
        count = len(self._players)
        self._pairs_met = Counter({0: count * (count - 1) // 2})  # how often → how many pairs have met so often
        self._rounds = 0
        self._open = 0  # matches of this round without result

    @property
    def byes(self) -> Mapping[str, int]:
        return self._byes

    @property
    def ranking(self) -> tuple[str, ...]:
        """By points, and for equal points by seeding."""
        return tuple(sorted(self._players, key=lambda name: -self._points[name]))

    @property
    def unknown(self) -> int:
        """Matches of the rounds to come."""
        spec = self._names.spec
        return (spec.rounds - self._rounds) * (len(self._players) // 2) * _MATCHES * len(spec.games)

    def begin(self) -> Sequence[Numbered]:
        return self._next_round()

    def take(self, pairing: Pairing, result: Result) -> Sequence[Numbered]:
        for name, won in zip(pairing.players, points(result), strict=True):
            self._points[name] += won
        self._open -= 1
        return self._next_round() if self._open == 0 and self._rounds < self._names.spec.rounds else ()

    def _next_round(self) -> Sequence[Numbered]:
        games = [game.name for game in self._names.spec.games]
        pairs, resting = self._pairs()
        if resting is not None:
            self._byes[resting] += 1
            self._points[resting] += WIN * _MATCHES * len(games)
        for one, other in pairs:
            times = self._met[one][other]
            self._met[one][other] = self._met[other][one] = times + 1
            self._pairs_met[times] -= 1
            self._pairs_met[times + 1] += 1
        matches = list(round_of_meetings(self._names, self._rounds, ((game, pairs) for game in games)))
        self._rounds += 1
        self._open = len(matches)
        return matches

    def _pairs(self) -> tuple[Sequence[tuple[str, str]], str | None]:
        """Who meets whom, and who has a bye."""
        ranking = self.ranking
        least = min(times for times, pairs in self._pairs_met.items() if pairs)
        for often in range(least, self._rounds + 1):
            barred = {name: {other for other, times in met.items() if times > often} for name, met in self._met.items()}
            for resting in self._who_may_rest(ranking):
                playing = [name for name in ranking if name != resting]
                pairs = pair_up(playing, partial(self._opponents, often), barred)
                if pairs is not None:
                    return pairs, resting
        raise AssertionError("in so many rounds nobody can have met more often than there were rounds")

    def _who_may_rest(self, ranking: Sequence[str]) -> Iterable[str | None]:
        if len(ranking) % 2 == 0:
            return (None,)
        fewest = min(self._byes[name] for name in ranking)
        return [name for name in reversed(ranking) if self._byes[name] == fewest]

    def _opponents(self, often: int, left: Sequence[str]) -> Iterable[str]:
        """Those whom the first one should meet, from the best to the worst."""
        first, points = left[0], self._points
        group = next((size for size, name in enumerate(left) if points[name] != points[first]), len(left))
        middle = group // 2
        places = chain((middle,), chain.from_iterable((middle + off, middle - off) for off in range(1, group)))
        others = chain((left[place] for place in places if 0 < place < group), left[group:])
        return others if often == 0 else sorted(others, key=self._met[first].__getitem__)
