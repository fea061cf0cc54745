"""Knock-out: a seeded bracket; whoever loses a duel is out."""

from collections.abc import Mapping, Sequence

from gamemaster.settings import derived
from gamemaster.tournament.results import Pairing, Result
from gamemaster.tournament.schedule.meetings import Names, Numbered
from gamemaster.tournament.schedule.points import WIN, points, values
from gamemaster.tournament.spec import TournamentSpec

EXTRA_PAIRS = 4  # pairs of matches with roles exchanged after a tie; if they are tied too, a rule decides


class KnockOut:
    """A knock-out under way.

    The order of the players in the specification is their seeding: the first two can meet only in the last round, and
    where there are not enough players for a full bracket, the first ones have a bye in the first round. A duel is the
    best of `best_of` matches: roles are exchanged from match to match, who begins is drawn from the seed, the games
    change after every two matches, and it ends as soon as it is decided. A tie goes on with pairs of matches. If
    EXTRA_PAIRS of them are tied, the greater sum of goal values wins, and if even that is equal, the better seeded.
    """

    byes: Mapping[str, int]

    def __init__(self, names: Names) -> None:
        self._names = names
        players = [player.name for player in names.spec.players]
        self._seeding = {name: number for number, name in enumerate(players)}
        self._lost: dict[str, int] = {}  # who is out → in which round
        self._round = -1
        size = 1 << (len(players) - 1).bit_length()
        self._bracket: Sequence[_Duel | str | None] = [
            players[seed] if seed < len(players) else None for seed in bracket(size)
        ]  # who meets in the next round, pair by pair; None beside a bye
        self._duels: Mapping[str, _Duel] = {}  # of this round, by the group of their matches
        self.byes = dict.fromkeys(players[: size - len(players)], 1)

    @property
    def ranking(self) -> tuple[str, ...]:
        """Whoever is in, then those who came farther; among equals by seeding."""
        return tuple(sorted(self._seeding, key=lambda name: -self._lost.get(name, self._round + 1)))

    @property
    def unknown(self) -> int:
        """Matches to come, if every duel takes all of its matches and none more."""
        open_duels = [duel for duel in self._duels.values() if duel.winner is None]
        later = len(self._seeding) - 1 - len(self._lost) - len(open_duels)
        return sum(duel.unknown for duel in open_duels) + later * self._names.spec.best_of

    def begin(self) -> Sequence[Numbered]:
        return self._next_round()

    def take(self, pairing: Pairing, result: Result) -> Sequence[Numbered]:
        duel = self._duels[pairing.group]
        duel.take(pairing, result)
        if duel.winner is None:
            return self._matches(duel)
        self._lost[duel.loser] = self._round
        return self._next_round() if all(duel.winner for duel in self._duels.values()) else ()

    def _next_round(self) -> Sequence[Numbered]:
        entrants = [place.winner if isinstance(place, _Duel) else place for place in self._bracket]
        if len(entrants) == 1:
            return ()
        self._round += 1
        self._duels = {}
        places: list[_Duel | str | None] = []
        for one, other in zip(entrants[::2], entrants[1::2], strict=True):
            if one is None or other is None:
                places.append(one or other)
                continue
            group = self._names.group(self._round, "duel", len(self._duels) + 1)
            better, worse = sorted((one, other), key=self._seeding.__getitem__)
            self._duels[group] = duel = _Duel(self._names.spec, group, len(self._duels), better, worse)
            places.append(duel)
        self._bracket = places
        return [match for duel in self._duels.values() for match in self._matches(duel)]

    def _matches(self, duel: "_Duel") -> list[Numbered]:
        """Those that are new; in the order of a round, the first matches of all duels come first."""
        return [
            self._names.pairing(
                self._round,
                number * len(self._duels) + duel.number + 1,
                duel.game(number),
                duel.players(number),
                duel.group,
            )
            for number in duel.more()
        ]


class _Duel:
    """Two players who play until one of them is out; the first is the better seeded."""

    def __init__(self, spec: TournamentSpec, group: str, number: int, *names: str) -> None:
        self.group = group
        self.number = number  # in its round
        self.winner: str | None = None
        self._spec = spec
        self._names = names
        self._chance = derived(spec.seed, "order", group) % 2
        self._known = 0
        self._taken = 0
        self._lead = 0  # points of the first above the second
        self._value = 0  # goal values likewise

    @property
    def loser(self) -> str:
        return self._names[1] if self.winner == self._names[0] else self._names[0]

    @property
    def unknown(self) -> int:
        return max(0, self._spec.best_of - self._known)

    def game(self, match: int) -> str:
        first, pair = self._part(match)
        return self._spec.games[((first + 1) // 2 + pair // 2) % len(self._spec.games)].name

    def players(self, match: int) -> tuple[str, ...]:
        _, pair = self._part(match)
        return self._names if (pair + self._chance) % 2 == 0 else self._names[::-1]

    def take(self, pairing: Pairing, result: Result) -> None:
        """Counts a result, and decides when it can."""
        self._taken += 1
        sign = 1 if pairing.players == self._names else -1
        won, value = points(result), values(result)
        self._lead += sign * (won[0] - won[1])
        self._value += sign * (value[0] - value[1])
        if self._taken < self._known:
            return
        left = self._spec.best_of - self._taken
        tied_for_good = self._lead == 0 and left <= -2 * EXTRA_PAIRS
        if abs(self._lead) > WIN * max(left, 0) or tied_for_good:
            self.winner = self._names[(self._lead or self._value) < 0]

    def more(self) -> range:
        """The matches that are known in addition: as many as there must be until it can be decided."""
        if self._taken < self._known:
            return range(0)
        left = self._spec.best_of - self._taken
        count = (WIN * left - abs(self._lead)) // (2 * WIN) + 1 if left > 0 else 2
        self._known += count
        return range(self._known - count, self._known)

    def _part(self, match: int) -> tuple[int, int]:
        """Where the part of the duel that a match is in begins, as planned or after a tie, and its number in it."""
        first = self._spec.best_of if match >= self._spec.best_of else 0
        return first, match - first


def bracket(size: int) -> list[int]:
    """The seeds, from 0, in the order in which neighbours meet, for a power of two."""
    seeds = [0]
    while len(seeds) < size:
        seeds = [each for seed in seeds for each in (seed, 2 * len(seeds) - 1 - seed)]
    return seeds
