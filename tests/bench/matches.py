"""Two contenders → matches in pairs, the same seed in both orders of the roles."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean
from time import perf_counter

from ggp.errors import GgpError, SettingsError
from ggp.gdl.rulesheet import NATURE
from ggp.gdl.state_machine import Facts, JointMove, StateMachine
from ggp.gdl.terms import Term, to_text
from tests.bench.contenders import Choice, Contender, Limit
from tests.bench.scores import Sprt

_OPENINGS = 100  # to try


@dataclass(frozen=True, slots=True)
class ArenaSettings:
    """What is played; with visits in place of seconds the seed gives the same matches again."""

    game: str
    players: tuple[str, str]
    seconds: float | None = None  # for each move; or instead
    visits: int | None = None
    of_processor: bool = False  # whether seconds are those of the thread; for contenders of one thread
    seed: int = 1
    opening: int = 0  # random steps before the contenders begin, the same in both matches of a pair


@dataclass(frozen=True, slots=True)
class Effort:
    """What a contender spent in one match on the moves that it had to choose."""

    moves: int = 0
    playouts: int = 0
    visits: int = 0
    seconds: float = 0.0
    longest_seconds: float = 0.0  # for one move
    unanswered: int = 0  # moves for which there was no answer, so that any was played

    def plus(self, choice: Choice, seconds: float) -> "Effort":
        return Effort(
            self.moves + 1,
            self.playouts + choice.playouts,
            self.visits + choice.visits,
            self.seconds + seconds,
            max(self.longest_seconds, seconds),
            self.unanswered + (choice.move is None),
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """One match, as the first contender sees it."""

    pair: int
    roles: tuple[int, ...]  # of the first contender; the other has them in the other match of the pair
    score: float  # 1 where the mean goal value of its roles is higher than that of the others, 0.5 for the same, or 0
    steps: tuple[str, ...]  # joint moves
    efforts: tuple[Effort, Effort]


@dataclass(frozen=True, slots=True)
class Arena:
    """What is needed to play any match of the settings; all on the thread of the caller.

    With more than two roles one side has a single role, each in turn, and the other side the rest.
    """

    machine: StateMachine
    sides: tuple[Sequence[Contender], Sequence[Contender]]  # as many of each as roles that a side can have
    settings: ArenaSettings

    def __post_init__(self) -> None:
        if len(self.roles) < 2:
            raise SettingsError(f"matches are between two sides, and this game has {len(self.roles)} role")
        for side in self.sides:
            assert len(side) == len(self.roles) - 1

    @property
    def roles(self) -> list[str]:
        """Without nature."""
        return [role for role in self.machine.roles if role != NATURE]

    def play(self, pair: int, match: int) -> Outcome:
        """The first (0) or second (1) match of this pair."""
        machine, roles = self.machine, self.roles
        alone = pair % len(roles) if len(roles) > 2 else 0
        rest = tuple(number for number in range(len(roles)) if number != alone)
        own = rest if match else (alone,)
        players: dict[str, tuple[int, Contender]] = {}
        for number, side, numbers in zip((0, 1), self.sides, (own, (alone,) if match else rest), strict=True):
            seed = self._random(pair, f"of {number}")
            for contender, at in zip(side, numbers, strict=False):
                contender.new_match(roles[at], seed.getrandbits(31))
                players[roles[at]] = number, contender
        opening, rng, nature = self._opening(pair), self._random(pair, "unanswered"), self._random(pair, NATURE)
        efforts = [Effort(), Effort()]
        steps: list[JointMove] = []
        state = machine.initial_state
        while not machine.is_terminal(state):
            if len(steps) < len(opening):
                joint_move = opening[len(steps)]
            else:
                moves = {role: self._ask(*players[role], role, state, efforts, rng) for role in roles}
                if NATURE in machine.roles:
                    moves[NATURE] = nature.choice(machine.legal_moves(state, NATURE))
                joint_move = tuple(moves[each] for each in machine.roles)
            state = machine.next_state(state, joint_move)
            steps.append(joint_move)
            for _, contender in players.values():
                contender.advance(joint_move)
        texts = tuple(" ".join(map(to_text, step)) for step in steps)
        return Outcome(pair, own, self._score(state, own), texts, (efforts[0], efforts[1]))

    def _ask(
        self, number: int, contender: Contender, role: str, state: Facts, efforts: list[Effort], rng: Random
    ) -> Term:
        """The move of a contender; adds to the effort of its side. It is not asked where it has no choice."""
        legal = self.machine.legal_moves(state, role)
        if len(legal) == 1:
            return legal[0]
        began = perf_counter()
        settings = self.settings
        limit = Limit(settings.seconds, settings.visits, settings.of_processor)
        choice = contender.choose(state, legal, limit)
        efforts[number] = efforts[number].plus(choice, perf_counter() - began)
        if choice.move is None:
            return rng.choice(legal)
        if choice.move not in legal:
            raise GgpError(f"{self.settings.players[number]} chose {to_text(choice.move)}, which is not legal")
        return choice.move

    def _score(self, state: Facts, own: tuple[int, ...]) -> float:
        goals = [self.machine.goal(state, role) for role in self.roles]
        if None in goals:
            return 0.5
        values = [goal or 0 for goal in goals]
        mine = fmean(values[number] for number in own)
        theirs = fmean(value for number, value in enumerate(values) if number not in own)
        return 0.5 if mine == theirs else float(mine > theirs)

    def _opening(self, pair: int) -> list[JointMove]:
        """Random joint moves that do not end the match."""
        rng, machine = self._random(pair, "opening"), self.machine
        for _ in range(_OPENINGS):
            state = machine.initial_state
            found: list[JointMove] = []
            while len(found) < self.settings.opening and not machine.is_terminal(state):
                found.append(tuple(rng.choice(machine.legal_moves(state, role)) for role in machine.roles))
                state = machine.next_state(state, found[-1])
            if not machine.is_terminal(state):
                return found
        raise SettingsError(f"hardly any match lasts longer than {self.settings.opening} random steps")

    def _random(self, pair: int, purpose: str) -> Random:
        return Random(f"{self.settings.seed} {pair} {purpose}")


def play_matches(arena: Arena, earlier: Sequence[Outcome], matches: int, sprt: Sprt | None) -> Iterator[Outcome]:
    """Plays on after the earlier outcomes until there are so many, or the test has a verdict."""
    outcomes = list(earlier)
    while len(outcomes) < matches and not (sprt and sprt.verdict(pair_scores(outcomes))):
        outcomes.append(arena.play(*divmod(len(outcomes), 2)))
        yield outcomes[-1]


def pair_scores(outcomes: Sequence[Outcome]) -> list[float]:
    """Of the pairs of which both matches were played."""
    return [(first.score + second.score) / 2 for first, second in zip(outcomes[::2], outcomes[1::2], strict=False)]
