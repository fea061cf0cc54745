"""A game → how it is searched best: variants play quick matches against the present choice, as long as there is time.

What helps in one game hurts in another, and no measure of a net or of playouts says how well they search; so only
matches count, at equal processor time. Their number is small: a challenger has to win clearly before it is chosen.
Before any match the choice is the usual search; as soon as their machine code is there, that with playouts that see two
steps ahead whether the match ends; as soon as something was learned, that with learned priors: in series of matches
these lost in none of the games tried (docs/experiments.md).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import inf, sqrt
from random import Random
from time import perf_counter, thread_time
from typing import Literal

from ggp.gdl.rulesheet import NATURE
from ggp.gdl.state_machine import Facts
from ggp.gdl.terms import Term
from ggp.learning.net import Net, no_net
from ggp.search.mcts.search import BatchedMcts
from ggp.search.mcts.settings import SearchSettings
from ggp.simulation.state_machine import CircuitMachine

OPENING = 2  # random steps, the same for each order of the roles
MOST_MATCHES = 60  # of a variant
_MEMORY_BYTES = 2**23
_FEWEST_VISITS, _FIRST_VISITS, _MOST_VISITS = 12, 800, 8000  # of each state
_QUICK_SECONDS = 0.1  # a match that takes less may take more visits
_MOST_STEPS = 400  # of a match; one that lasts longer is a draw
_MEASURED_VISITS = 20_000  # before times of variants are compared
_MEASURING_VISITS = 1_000  # from which it is told how many a match may have
_MATCH_TIME = 0.4  # of the time that matches may take: what they are planned to take
_MOST_RATIO = 4.0  # of visits
PRIOR_WEIGHT, VALUE_WEIGHT, MINIMAX_WEIGHT = 0.5, 0.5, 0.7
_DECISIVE: tuple[Literal[0, 1, 2], ...] = (2, 1)  # `decisive_moves` that are tried, the first that the game can afford
_PRIOR = 6.0  # matches that seem to have been drawn before any is played
_KEPT = 0.25  # share of what was found out that counts once there is a newer net: the first ones are poor
_FIRST_MATCHES = 6  # of minimax, before other variants have turns: it wins nearly all or loses nearly all
_CERTAIN = 1.5  # standard errors above a draw at which a variant is taken
_MIXED_CERTAIN = 0.35  # likewise for half of the value of a net with patterns; set for connect four
_MINIMAX_CERTAIN = 0.7  # likewise of minimax, where chance hardly decides
_MINIMAX_VISITS = 4  # times the visits of other matches: with few of them it loses where it wins with many
_MINIMAX_GAIN = 0.15  # by which it scores better still with the visits of a real move
_HOPELESS = 1.0  # as many below it at which it is not tried again
_MINIMAX_HOPELESS = 0.3


@dataclass(slots=True)
class Variant:
    """A way to search, and what came of it."""

    settings: SearchSettings
    needs_net: bool = False  # whether it makes no sense before something was learned
    certain: float = _CERTAIN
    hopeless: float = _HOPELESS
    gain: float = 0.0  # expected from more visits; counts after _FIRST_MATCHES
    visits_ratio: int = 1  # of its matches to the usual ones
    matches: float = 0.0
    points: float = 0.0
    visits: int = 0  # of all its searches
    seconds: float = 0.0  # that these took

    @property
    def mean(self) -> float:
        return (self.points + _PRIOR / 2) / (self.matches + _PRIOR)

    @property
    def error(self) -> float:
        return 0.5 / sqrt(self.matches + _PRIOR)

    def is_open(self, best: "Variant") -> bool:
        """Whether more matches could change what is thought of it, next to the present choice."""
        return self.matches < MOST_MATCHES and self._expected(best) + self.hopeless * self.error > 0.5

    def is_better(self, best: "Variant") -> bool:
        expected = self._expected(best) if self.matches >= _FIRST_MATCHES else self.mean
        return expected - self.certain * self.error > 0.5

    def _expected(self, best: "Variant") -> float:
        """The score with the visits of real moves."""
        return self.mean + self.gain - best.gain


def variants_of(settings: SearchSettings, decisive: Literal[0, 1, 2] = 0) -> tuple[Variant, ...]:
    """What is worth trying: these settings first, then learned priors; all again with these decisive moves, if any."""
    prior = replace(settings, prior_weight=PRIOR_WEIGHT)
    found = (
        Variant(settings),
        Variant(prior, needs_net=True),
        Variant(  # without playouts
            replace(prior, value_weight=1.0, minimax_weight=MINIMAX_WEIGHT),
            needs_net=True,
            certain=_MINIMAX_CERTAIN,
            hopeless=_MINIMAX_HOPELESS,
            gain=_MINIMAX_GAIN,
            visits_ratio=_MINIMAX_VISITS,
        ),
        Variant(replace(prior, value_weight=VALUE_WEIGHT), needs_net=True),
        Variant(prior),
    )
    if not decisive:
        return found
    return found + tuple(replace(each, settings=replace(each.settings, decisive_moves=decisive)) for each in found)


@dataclass(slots=True)
class Tuner:
    """Matches between variants, for a game of two roles or more; `best` is the present choice.

    `use_net` gives it what was learned; without a net only variants that need none are tried. `use_decisive` adds those
    with decisive moves.
    """

    machine: CircuitMachine
    usual: SearchSettings
    seed: int = 0
    seconds: float = 0.0  # that it has taken
    last_seconds: float = 0.0  # that the latest matches took, if they came to their end
    variants: list[Variant] = field(default_factory=list)
    net: Net = field(default_factory=no_net)
    has_net: bool = False
    best: Variant = field(init=False)
    _decisive: Literal[0, 1, 2] = 0  # `decisive_moves` that is to be tried once its machine code is there
    _is_opposed: bool | None = None  # whether there are two roles whose values add up to 1; None: not looked at yet
    _length: float = 0.0  # steps of a random match
    _visits: int = _FIRST_VISITS
    _played: int = 0

    def __post_init__(self) -> None:
        self.variants = list(variants_of(self.usual))
        self.best = self.variants[0]
        usual = self.machine.simulator()
        affordable = [level for level in _DECISIVE if self.machine.simulator(decisive=level) is not usual]
        if affordable and not self.usual.decisive_moves:
            self._decisive = affordable[0]
            self.machine.compile_in_background(decisive=self._decisive)

    @property
    def is_done(self) -> bool:
        return not any(self._may_challenge(variant) for variant in self.variants)

    def use_decisive(self) -> bool:
        """Whether playouts with decisive moves became ready just now: from then on there are variants with them."""
        level, place, before = self._decisive, self.variants.index(self.best), self.variants
        if not level or not self.machine.is_settled(decisive=level):
            return False
        self._decisive = 0
        self.variants = [*before, *variants_of(self.usual, level)[len(before) :]]
        self._adjust_to_net()
        if level == _DECISIVE[0]:
            self._choose_variant(self.variants[place + len(before)])
        return True

    def use_net(self, net: Net) -> None:
        """The first net is chosen at once; with a newer one, what was found out before counts less."""
        if not self.has_net:
            level = self.best.settings.decisive_moves
            with_net = [each for each in self.variants if each.needs_net and each.settings.decisive_moves == level]
            self._choose_variant(with_net[0])
        self.net, self.has_net = net, True
        for variant in self.variants:
            variant.matches *= _KEPT
            variant.points *= _KEPT
        self._adjust_to_net()

    def _adjust_to_net(self) -> None:
        """With patterns minimax is a variant like others, and half of the value need not win as clearly.

        Minimax does not gain by visits there; half of the value loses clearly in most games tried, and in connect four
        it is the better choice against other programs (docs/experiments.md).
        """
        has_patterns = len(self.net.patterns.starts) > 0
        for variant in self.variants:
            if variant.settings.minimax_weight > 0:
                variant.certain = _CERTAIN if has_patterns else _MINIMAX_CERTAIN
                variant.gain = 0.0 if has_patterns else _MINIMAX_GAIN
                variant.visits_ratio = 1 if has_patterns else _MINIMAX_VISITS
            elif variant.settings.value_weight != self.usual.value_weight:
                variant.certain = _MIXED_CERTAIN if has_patterns else _CERTAIN

    def _may_challenge(self, variant: Variant) -> bool:
        """One thing at a time: decisive moves, or how moves are chosen in the tree."""
        own, best = variant.settings, self.best.settings
        is_same_but_for_them = (own, variant.needs_net) == (
            replace(best, decisive_moves=own.decisive_moves),
            self.best.needs_net,
        )
        is_near = own.decisive_moves == best.decisive_moves or is_same_but_for_them
        is_possible = self.has_net or not variant.needs_net
        is_possible &= not own.minimax_weight or self._is_opposed is not False
        return variant is not self.best and variant.is_open(self.best) and is_possible and is_near

    @staticmethod
    def _is_first(variant: Variant) -> bool:
        """Whether it has its turn before others."""
        return variant.visits_ratio > 1 and variant.matches < _FIRST_MATCHES

    def _choose_variant(self, variant: Variant) -> None:
        """The others have to show again that they are better."""
        self.best = variant
        for each in self.variants:
            each.matches = each.points = 0.0

    def play(self, state: Facts, stop: Callable[[], bool], most_seconds: float = inf) -> bool:
        """One match from a state for each role that the variant takes; False when stopped before they were over.

        When that takes more than `most_seconds`, they are given up, and those to come have fewer visits.
        """
        began = perf_counter()
        finished = self._play(state, lambda: stop() or perf_counter() - began > most_seconds, most_seconds)
        seconds = perf_counter() - began
        if not finished and seconds > most_seconds:
            self._visits = max(self._visits // 2, _FEWEST_VISITS)
        self.seconds += seconds
        self.last_seconds = seconds if finished else max(seconds, self.last_seconds)
        return finished

    def _play(self, state: Facts, stop: Callable[[], bool], most_seconds: float) -> bool:
        if self._is_opposed is None and not self._measure(state, stop):
            return False
        hopeful = [each for each in self.variants if self._may_challenge(each)]
        if not hopeful:
            return False
        variant = max(hopeful, key=lambda each: (self._is_first(each), each.mean + 2 * each.error))
        self._played += 1
        rng = Random(f"{self.seed} {self._played}")  # noqa: S311 - nothing is kept secret by it
        start = self._opening(state, rng)
        roles = [role for role in self.machine.roles if role != NATURE]
        wanted = self._visits * max(variant.visits_ratio, self.best.visits_ratio)
        visits = max(_FEWEST_VISITS, min(wanted, self._affordable(most_seconds, len(roles))))
        points = []
        for own in roles:
            began = perf_counter()
            result = self._match(start, own, variant, rng, visits, stop)
            if result is None:
                return False
            points.append(result)
            if perf_counter() - began < _QUICK_SECONDS and self._visits < _MOST_VISITS:
                self._visits *= 2
        variant.matches += len(points)
        variant.points += sum(points)
        if variant.is_better(self.best):
            self._choose_variant(variant)
        return True

    def _opening(self, state: Facts, rng: Random) -> Facts:
        """The state after a few random steps, or the state itself where they would end the match."""
        found = state
        for _ in range(OPENING):
            joint = [self._random_move(found, role, rng) for role in self.machine.roles]
            if any(move is None for move in joint):
                return state
            found = self.machine.next_state(found, tuple(move for move in joint if move is not None))
            if self.machine.is_terminal(found):
                return state
        return found

    def _measure(self, state: Facts, stop: Callable[[], bool]) -> bool:
        """How long matches and searches take, and whether two roles are opposed; False when stopped."""
        search = self._search(self.best, self.seed)
        sample = search.workers[0].sample(search.tree, stop)
        if sample is None:
            return False
        self._length, self._is_opposed = sample
        search.run(stop, _FEWEST_VISITS)  # what is made once does not count
        self._run(self.best, search, state, _MEASURING_VISITS, stop)
        return True

    def _affordable(self, seconds: float, matches: int) -> int:
        """Visits of each state, with which so many matches take no longer."""
        if seconds == inf or not self.best.visits:
            return _MOST_VISITS * _MINIMAX_VISITS
        each = self.best.seconds / self.best.visits
        return int(_MATCH_TIME * seconds / (max(each, 1e-9) * max(self._length, 1.0) * matches))

    def _match(
        self, state: Facts, own: str, variant: Variant, rng: Random, visits: int, stop: Callable[[], bool]
    ) -> float | None:
        """1 when the variant got more than the others, 0.5 as much, 0 less; None when stopped."""
        machine = self.machine
        players = {role: variant if role == own else self.best for role in machine.roles if role != NATURE}
        searches = {role: self._search(player, rng.getrandbits(31)) for role, player in players.items()}
        for _ in range(_MOST_STEPS):
            if machine.is_terminal(state):
                break
            joint: list[Term] = []
            for role in machine.roles:
                moves = machine.legal_moves(state, role)
                if not moves:
                    return 0.5
                if len(moves) == 1:
                    joint.append(moves[0])
                elif role not in players:
                    joint.append(rng.choice(moves))
                else:
                    own_visits = self._visits_of(players[role], visits)
                    self._run(players[role], searches[role], state, own_visits, stop)
                    best = searches[role].result(role).best
                    joint.append(moves[0] if best is None else best)
            if stop():
                return None
            state = machine.next_state(state, tuple(joint))
        return _points(machine, state, own)

    @staticmethod
    def _run(player: Variant, search: BatchedMcts, state: Facts, visits: int, stop: Callable[[], bool]) -> None:
        search.go_to(state)
        before, began = search.visits, thread_time()
        search.run(stop, visits)
        player.visits += max(search.visits - before, 0)
        player.seconds += thread_time() - began

    def _visits_of(self, player: Variant, visits: int) -> int:
        """As many as take as long as so many of the present choice."""
        if player is self.best or min(player.visits, self.best.visits) < _MEASURED_VISITS:
            return visits
        ratio = (player.visits / player.seconds) / (self.best.visits / self.best.seconds)
        return max(1, round(visits * min(max(ratio, 1 / _MOST_RATIO), _MOST_RATIO)))

    def _search(self, player: Variant, seed: int) -> BatchedMcts:
        memory = min(self.usual.memory_bytes, _MEMORY_BYTES)
        search = BatchedMcts(self.machine, replace(player.settings, memory_bytes=memory, threads=1), seed)
        if player.needs_net:
            search.adopt(search.settings, self.net)
        return search

    def _random_move(self, state: Facts, role: str, rng: Random) -> Term | None:
        moves: Sequence[Term] = self.machine.legal_moves(state, role)
        return rng.choice(moves) if moves else None


def _points(machine: CircuitMachine, state: Facts, own: str) -> float:
    goals = {role: machine.goal(state, role) for role in machine.roles if role != NATURE}
    mine = goals.pop(own)
    others = [goal for goal in goals.values() if goal is not None]
    if mine is None or not others or not machine.is_terminal(state):
        return 0.5
    usual = sum(others) / len(others)
    return 0.5 if mine == usual else float(mine > usual)
