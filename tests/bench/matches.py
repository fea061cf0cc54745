"""Two contenders → matches in pairs, the same seed in both orders of the roles."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
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
    seconds: float = 0.0
    longest_seconds: float = 0.0  # for one move
    unanswered: int = 0  # moves for which there was no answer, so that any was played

    def plus(self, choice: Choice, seconds: float) -> "Effort":
        return Effort(
            self.moves + 1,
            self.playouts + choice.playouts,
            self.seconds + seconds,
            max(self.longest_seconds, seconds),
            self.unanswered + (choice.move is None),
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """One match, as the first contender sees it."""

    pair: int
    role: int  # of the first contender; the other order is the second match of the pair
    score: float  # 1 for a higher goal value than the other's, 0.5 for the same, 0 for a lower one
    steps: tuple[str, ...]  # joint moves
    efforts: tuple[Effort, Effort]


@dataclass(frozen=True, slots=True)
class Arena:
    """What is needed to play any match of the settings; all on the thread of the caller."""

    machine: StateMachine
    contenders: tuple[Contender, Contender]
    settings: ArenaSettings

    def __post_init__(self) -> None:
        if len(self.roles) != 2:
            raise SettingsError(f"matches are between two roles, and this game has {len(self.roles)}")

    @property
    def roles(self) -> list[str]:
        """Without nature."""
        return [role for role in self.machine.roles if role != NATURE]

    def play(self, pair: int, role: int) -> Outcome:
        """The match of this pair in which the first contender has this role."""
        machine, roles = self.machine, self.roles
        for number, contender in enumerate(self.contenders):
            contender.new_match(roles[role ^ number], self._random(pair, f"of {number}").getrandbits(31))
        opening, rng, nature = self._opening(pair), self._random(pair, "unanswered"), self._random(pair, NATURE)
        efforts = [Effort(), Effort()]
        steps: list[JointMove] = []
        state = machine.initial_state
        while not machine.is_terminal(state):
            if len(steps) < len(opening):
                joint_move = opening[len(steps)]
            else:
                moves = {
                    roles[role ^ number]: self._ask(number, roles[role ^ number], state, efforts, rng)
                    for number in (0, 1)
                }
                if NATURE in machine.roles:
                    moves[NATURE] = nature.choice(machine.legal_moves(state, NATURE))
                joint_move = tuple(moves[each] for each in machine.roles)
            state = machine.next_state(state, joint_move)
            steps.append(joint_move)
            for contender in self.contenders:
                contender.advance(joint_move)
        texts = tuple(" ".join(map(to_text, step)) for step in steps)
        return Outcome(pair, role, self._score(state, role), texts, (efforts[0], efforts[1]))

    def _ask(self, number: int, role: str, state: Facts, efforts: list[Effort], rng: Random) -> Term:
        """A contender's move; adds to its effort. It is not asked where it has no choice."""
        legal = self.machine.legal_moves(state, role)
        if len(legal) == 1:
            return legal[0]
        began = perf_counter()
        settings = self.settings
        limit = Limit(settings.seconds, settings.visits, settings.of_processor)
        choice = self.contenders[number].choose(state, legal, limit)
        efforts[number] = efforts[number].plus(choice, perf_counter() - began)
        if choice.move is None:
            return rng.choice(legal)
        if choice.move not in legal:
            raise GgpError(f"{self.settings.players[number]} chose {to_text(choice.move)}, which is not legal")
        return choice.move

    def _score(self, state: Facts, role: int) -> float:
        own, other = (self.machine.goal(state, self.roles[number]) for number in (role, 1 - role))
        if own is None or other is None or own == other:
            return 0.5
        return float(own > other)

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
