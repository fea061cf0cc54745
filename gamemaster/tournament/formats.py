"""The formats of a tournament: round robin and gauntlet, Swiss, knock-out."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from itertools import chain, combinations, zip_longest
from math import comb
from typing import TypeAlias

from gamemaster.settings import derived
from gamemaster.tournament.pairings import (
    WIN,
    MatchResult,
    Numbered,
    Pairing,
    PairingIds,
    assignment_count,
    points,
    round_of_meetings,
    values,
)
from gamemaster.tournament.spec import TournamentSpec

Turn: TypeAlias = Sequence[tuple[str, ...]]  # those who meet at the same time; no player is in two of them


def fixed_count(spec: TournamentSpec, roles: Mapping[str, int]) -> int:
    """How many matches the whole schedule has."""
    return spec.rounds * sum(
        _meetings(spec, roles[game.name]) * assignment_count(roles[game.name]) for game in spec.games
    )


def fixed_schedule(names: PairingIds, roles: Mapping[str, int]) -> Iterator[Numbered]:
    """All matches, round after round; in a round the games alternate, and no player is far ahead of the others."""
    spec = names.spec
    for round_ in range(spec.rounds):
        turns = [_turns(spec, round_, game.name, roles[game.name]) for game in spec.games]
        yield from round_of_meetings(
            names,
            round_,
            (
                (game.name, turn)
                for together in zip_longest(*turns)
                for game, turn in zip(spec.games, together, strict=True)
                if turn is not None
            ),
        )


def circle(players: Sequence[str]) -> list[Turn]:
    """All against all, in as few turns as there can be: the circle method (Schurig, 1886)."""
    ring: list[str | None] = [*players, *([None] if len(players) % 2 else [])]
    half = len(ring) // 2
    turns: list[Turn] = []
    for _ in range(len(ring) - 1):
        facing = zip(ring[:half], reversed(ring[half:]), strict=True)
        turns.append([(one, other) for one, other in facing if one is not None and other is not None])
        ring = [ring[0], ring[-1], *ring[1:-1]]
    return turns


def _turns(spec: TournamentSpec, round_: int, game: str, roles: int) -> Sequence[Turn]:
    players = [player.name for player in spec.players]
    if roles == 1:
        return [[(player,) for player in players]]
    if spec.format == "gauntlet":
        return [[(players[0], *others)] for others in combinations(players[1:], roles - 1)]
    if roles == 2:
        return circle(players)
    subsets = combinations(players, roles)
    return [[subset] for subset in sorted(subsets, key=lambda names: derived(spec.seed, "turn", round_, game, *names))]


def _meetings(spec: TournamentSpec, roles: int) -> int:
    players = len(spec.players)
    if roles > 1 and spec.format == "gauntlet":
        return comb(players - 1, roles - 1)
    return comb(players, roles)


_MATCHES = 2  # of two players who meet, in each game


class Swiss:
    """A Swiss tournament under way.

    The order of the players in the specification is their seeding; it decides between equal points. Those of a group
    with as many points meet so that its upper half plays its lower half; a player left over meets the highest of the
    next group. With an odd number of players, the lowest of those with the fewest byes does not play, which counts as
    a win of every match. No two players meet again as long as a round without that exists, with any of those who may
    have the bye; after that no two meet more often than need be, and those who have met less often go first.
    """

    def __init__(self, names: PairingIds) -> None:
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

    def take(self, pairing: Pairing, result: MatchResult) -> Sequence[Numbered]:
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
        raise AssertionError("two players cannot have met more often than there were rounds")

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


# Those left, the highest first → whom that one should meet, from the best to the worst.
Opponents: TypeAlias = Callable[[Sequence[str]], Iterable[str]]
Barred: TypeAlias = Mapping[str, Set[str]]  # player → those whom it may not meet, and who may not meet it


def pair_up(players: Sequence[str], opponents: Opponents, barred: Barred) -> list[tuple[str, str]] | None:
    """Pairs of all players, of whom there is an even number; None when there is no way to pair them.

    The first player gets the first opponent with whom all others can still be paired, then the next player, and so
    on: what backtracking would find first, but in polynomial time, since a matching of the rest is always at hand.
    """
    pairs = _greedy_pairs(players, opponents, barred)
    if 2 * len(pairs) == len(players):
        return pairs
    mates = _perfect_matching(players, barred, {})
    if mates is None:
        return None
    pairs = []
    left = list(players)
    while left:
        first = left[0]
        wanted = [other for other in opponents(left) if other not in barred[first]]
        if not _is_swapped(mates, first, wanted[0], barred):
            wishes = {other: len(wanted) - place for place, other in enumerate(wanted)}
            mates = _perfect_matching(left, barred, wishes) or mates
        other = mates[first]
        pairs.append((first, other))
        left.remove(first)
        left.remove(other)
        del mates[first], mates[other]
    return pairs


def _greedy_pairs(players: Sequence[str], opponents: Opponents, barred: Barred) -> list[tuple[str, str]]:
    """Each player with the first opponent who is left; some players may be left over."""
    left = list(players)
    pairs: list[tuple[str, str]] = []
    while left:
        found = next((other for other in opponents(left) if other not in barred[left[0]]), None)
        first = left.pop(0)
        if found is not None:
            pairs.append((first, found))
            left.remove(found)
    return pairs


def _is_swapped(mates: dict[str, str], first: str, other: str, barred: Barred) -> bool:
    """Whether two players now meet in a perfect matching, because two or three pairs of it could be mixed for that."""
    if mates[first] == other:
        return True
    one, two = mates[first], mates[other]
    if two not in barred[one]:
        mates |= {first: other, other: first, one: two, two: one}
        return True
    for three, four in mates.items():
        if three not in barred[one] and four not in barred[two] and not {three, four} & {first, other, one, two}:
            mates |= {first: other, other: first, one: three, three: one, two: four, four: two}
            return True
    return False


def _perfect_matching(players: Sequence[str], barred: Barred, wishes: Mapping[str, int]) -> dict[str, str] | None:
    """Player → mate, both ways; None when there is no way to pair all.

    `wishes` says how much the first player wants to meet each of the others; of all matchings, the one that suits it
    best is taken (Edmonds 1965, by networkx).
    """
    from networkx import Graph, max_weight_matching  # noqa: PLC0415 - few rounds need it, and it takes a while to load

    graph: Graph[str] = Graph()
    graph.add_nodes_from(players)
    for one, other in combinations(players, 2):
        if other not in barred[one]:
            graph.add_edge(one, other, weight=wishes.get(other, 0) if one == players[0] else 0)
    pairs = max_weight_matching(graph, maxcardinality=True)
    if 2 * len(pairs) < len(players):
        return None
    return {one: other for pair in pairs for one, other in (pair, pair[::-1])}


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

    def __init__(self, names: PairingIds) -> None:
        self._names = names
        players = [player.name for player in names.spec.players]
        self._seeding = {name: number for number, name in enumerate(players)}
        self._lost: dict[str, int] = {}  # who is out → in which round
        self._round = -1
        size = 1 << (len(players) - 1).bit_length()
        self._bracket: Sequence[_Duel | str | None] = [
            players[seed] if seed < len(players) else None for seed in bracket(size)
        ]  # who meets in the next round, pair by pair; None opposite a bye
        self._duels: Mapping[str, _Duel] = {}  # of this round, by the group of their matches
        self.byes = dict.fromkeys(players[: size - len(players)], 1)

    @property
    def ranking(self) -> tuple[str, ...]:
        """Players still in, then the others, the later they lost the earlier; equals by seeding."""
        return tuple(sorted(self._seeding, key=lambda name: -self._lost.get(name, self._round + 1)))

    @property
    def unknown(self) -> int:
        """Matches to come, if every duel takes all of its matches and none more."""
        open_duels = [duel for duel in self._duels.values() if duel.winner is None]
        later = len(self._seeding) - 1 - len(self._lost) - len(open_duels)
        return sum(duel.unknown for duel in open_duels) + later * self._names.spec.best_of

    def begin(self) -> Sequence[Numbered]:
        return self._next_round()

    def take(self, pairing: Pairing, result: MatchResult) -> Sequence[Numbered]:
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

    def take(self, pairing: Pairing, result: MatchResult) -> None:
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
