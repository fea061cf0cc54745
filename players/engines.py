"""The searches of a player on the circuit: a tree for any game, lines of moves where there is only one role."""

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import inf
from random import Random
from time import perf_counter

from ggp.engines import make_machine
from ggp.equilibrium.backward_induction import BackwardInduction, choose_together
from ggp.errors import EvaluationError, KnowledgeError
from ggp.gdl.rulesheet import NATURE
from ggp.gdl.state_machine import Facts
from ggp.gdl.terms import Term, to_text
from ggp.learning.knowledge import Knowledge, TrainingSummary, find_knowledge, save_after_match
from ggp.learning.learner import Learner
from ggp.learning.symmetries import find_symmetries, images_of
from ggp.protocol.evaluation import MOST_STEPS, Evaluation
from ggp.search.loading import load_kernels
from ggp.search.mcts.search import BatchedMcts, MoveReport, SearchResult, SearchSettings
from ggp.search.mcts.tuning import PRIOR_WEIGHT, Tuner
from ggp.search.planning.planner import Planner
from ggp.simulation.state_graph import Images
from ggp.simulation.state_machine import CircuitMachine
from players.information import InformationSearch
from players.strategy import RoleTask, SearchEngine, Thought, per_second

_SLICE_SECONDS = 0.05  # between two looks at the best move
_SEEDS = 2**32  # the searches take smaller ones than a game master gives
_LEARNING = (0.65, 0.3)  # of the time while nothing is asked goes into learning: before the first step, and later
_TUNING = (0.3, 0.15)  # likewise into quick matches that show what is gained by it
_LEARNED_SAMPLES = 60_000  # before a net is tried, and each time it has learned from twice as many as before
_LEARNED_BY_PATTERNS = 20_000  # likewise, where the net has patterns, which need fewer
_LAST_MORE = 1.1  # likewise of the last net before the first step
PLANNED = 0.9  # of the start clock: until the circuit is there some of it has passed
_LEAST_PLANNED = 4.0  # seconds before the first step, for symmetries to be looked for
_SYMMETRIES_SHARE, _MOST_SYMMETRIES = 5, 5.0  # of these, and seconds, that grounding for it may take
_MOST_LEARNING = 600.0  # seconds in a match
_LEAST_SECONDS, _MATCH_SHARE = 1.0, 8  # what quick matches may take: one part in so many of the time so far
_QUICK_SECONDS = 0.5  # matches that take longer are only played before the first step
LEARNER_SHARE = 8  # of the memory: one part in so many is the learner's
_MATRIX_GAMES_SHARE = 4  # of the memory, where two roles choose at once: one part in so many is for all states
_SOLVING_PART = 4  # of the time for a move: one part in so many may go into solving them
_TREE_SHARE = 8  # of the memory, where lines are what is searched for: one part in so many is the tree's


log = logging.getLogger(__name__)


def make_engine(task: RoleTask) -> SearchEngine:
    """Takes up to a minute; GroundingError where the rules have no circuit."""
    load_kernels()
    machine = make_machine(task.rulesheet, "circuit")
    assert isinstance(machine, CircuitMachine)
    settings, seed = task.settings.search_settings, task.settings.seed % _SEEDS
    if len(machine.roles) > 1:
        if not choose_together(machine):
            return _make_tree_search(machine, task, settings)
        share = settings.memory_bytes // _MATRIX_GAMES_SHARE
        tree = _make_tree_search(machine, task, replace(settings, memory_bytes=settings.memory_bytes - share))
        return EquilibriumSearch(machine, task.role, seed, share, tree, _planned(task))
    tree_bytes = max(settings.memory_bytes // _TREE_SHARE, 2**20)
    tree = TreeSearch(machine, task.role, replace(settings, memory_bytes=tree_bytes), seed)
    return LineSearch(machine, Planner(machine, seed, settings.memory_bytes - tree_bytes, settings.threads), tree)


def _planned(task: RoleTask) -> float:
    """Seconds that there are before the first step, about."""
    return PLANNED * task.settings.clock_within(task.start.startclock)


def _make_tree_search(machine: CircuitMachine, task: RoleTask, settings: SearchSettings) -> "TreeSearch":
    seed, known = task.settings.seed % _SEEDS, _known(task, machine)
    if not task.settings.tune or sum(role != NATURE for role in machine.roles) < 2:  # matches need an opponent
        return TreeSearch(machine, task.role, settings, seed, known=known)
    learner_bytes = settings.memory_bytes // LEARNER_SHARE if task.settings.learn else 0
    improver = Improver(machine, settings, seed, learner_bytes, known, _planned(task))
    tree_settings = replace(settings, memory_bytes=settings.memory_bytes - learner_bytes)
    if task.settings.save_knowledge:
        improver.save = partial(_save, task, machine)
    return TreeSearch(machine, task.role, tree_settings, seed, improver, known)


def make_information_search(task: RoleTask) -> InformationSearch:
    """As `make_engine`, for games with `sees`."""
    load_kernels()
    machine = make_machine(task.rulesheet, "circuit")
    assert isinstance(machine, CircuitMachine)
    return InformationSearch(machine, task)


def _known(task: RoleTask, machine: CircuitMachine) -> Knowledge | None:
    """What was learned before the match; a file that cannot be used costs a line of the log."""
    try:
        known = find_knowledge(task.settings.knowledge, machine.rulesheet, machine.compiled)
    except KnowledgeError as error:
        task.warn(f"played without knowledge: {error}")
        return None
    if known is not None:
        log.info("the game was learned before, in %.0f s by %d matches", known.origin.seconds, known.origin.matches)
    return known


def _save(task: RoleTask, machine: CircuitMachine, learned: Knowledge) -> None:
    """For the next match; where that fails it costs a line of the log."""
    try:
        path = save_after_match(learned, machine.rulesheet, machine.compiled)
    except OSError as error:
        task.warn(f"what was learned could not be saved: {error}")
        return
    if path is not None:
        origin = learned.origin
        log.info("saved what was learned so far, in %.0f s by %d matches: %s", origin.seconds, origin.matches, path)


class Improver:
    """What makes the search better while nothing is asked: a net is learned, and quick matches show how to use it.

    Each has a share of the time. Before the first step all of the learning comes first, so that quick matches are about
    the net that will be used; later both go on in turns, since the length of the match is not known.
    """

    def __init__(
        self,
        machine: CircuitMachine,
        settings: SearchSettings,
        seed: int,
        learner_bytes: int,
        known: Knowledge | None,
        planned: float = 0.0,
    ) -> None:
        """learner_bytes: of memory, 0 for not learning; known: from before, where learning goes on.

        planned: seconds that there will be before the first step, about.
        """
        self.save: Callable[[Knowledge], None] | None = None  # what was learned, when the match is over
        self._planned = planned
        self._tuner = Tuner(machine, settings, seed)
        self._known = known
        self._earlier = 0 if known is None else known.origin.samples
        may_learn = learner_bytes > 0 and not machine.compiled.has_percepts
        if known is not None:
            self._tuner.use_net(known.net)
            may_learn &= known.origin.seconds < _MOST_LEARNING  # a match does not add much to more than that
        self._may_learn = may_learn
        self._machine, self._seed, self._learner_bytes = machine, seed, learner_bytes
        self._learner: Learner | None = None
        self._looks_for_symmetries = planned >= _LEAST_PLANNED
        self._samples = self._earlier  # that the net in use has learned from
        self._seconds = 0.0  # of learning
        self._is_new = False  # whether the tuner has a net that the search has not

    def work(
        self, search: BatchedMcts, state: Facts, thought: Thought, passed: Callable[[], float], *, start: bool
    ) -> None:
        """As much as is due once so many seconds have passed in which nothing was asked; the search adopts the best."""
        if self._tuner.use_decisive():
            self.adopt(search)
        least = self._planned if start else 0.0
        while self._may_learn and self._seconds < (
            due := min(_LEARNING[not start] * max(passed(), least), _MOST_LEARNING)
        ):
            if thought.stop():
                return
            if self._learner is None:
                self._begin(thought.stop)
            else:
                self._learn(self._learner, thought, due if start else inf)
            if self._is_new:
                self._is_new = False
                self.adopt(search)
        tuner = self._tuner
        quick = start or 0 < tuner.last_seconds < _QUICK_SECONDS
        budget = _TUNING[not start] * max(passed(), least) - tuner.seconds
        is_due = quick and not tuner.is_done and budget > 0
        if is_due and tuner.play(state, thought.stop, max(_LEAST_SECONDS, passed() / _MATCH_SHARE)):
            self.adopt(search)

    @property
    def learned(self) -> Knowledge | None:
        """All that is known now; None where this match has not added enough to it for a net to be tried.

        Also None as long as it is not decided what the net reads: learning could not go on with that from its net.
        """
        learner = self._learner
        if learner is None or learner.inputs is None:
            return None
        if self._earlier + learner.samples < max(_least_samples(learner), _LAST_MORE * self._earlier):
            return None
        origin = TrainingSummary(
            self._machine.rulesheet.source, self._seconds, learner.matches, learner.samples, 0.0, self._seed
        )
        if self._known is not None:
            earlier = self._known.origin
            origin = replace(
                origin, seconds=earlier.seconds + origin.seconds, matches=earlier.matches + origin.matches,
                samples=earlier.samples + origin.samples,
            )  # fmt: skip
        return Knowledge(learner.net, origin)

    def _begin(self, stop: Callable[[], bool]) -> None:
        """Where symmetries were not found until the next answer was due, learning begins without them."""
        began, batches = perf_counter(), self._machine.batches
        symmetries = None
        if self._looks_for_symmetries:
            self._looks_for_symmetries = False
            seconds = min(self._planned / _SYMMETRIES_SHARE, _MOST_SYMMETRIES)
            symmetries = find_symmetries(self._machine.rulesheet, batches, stop, seconds=seconds)
        if not stop():
            learner = Learner(
                batches, self._seed, net=None if self._known is None else self._known.net,
                memory_bytes=self._learner_bytes, known_samples=self._earlier, symmetries=symmetries,
            )  # fmt: skip
            self._may_learn = learner.can_learn
            self._learner = learner
        self._seconds += perf_counter() - began

    def _learn(self, learner: Learner, thought: Thought, due: float) -> None:
        """A slice; the net is used when it has seen twice as much as the one in use, or is the last for now."""
        began = perf_counter()
        end = began + _SLICE_SECONDS
        learner.run(lambda: thought.stop() or perf_counter() >= end)
        self._seconds += perf_counter() - began
        samples = self._earlier + learner.samples
        more = 2.0 if self._seconds < due else _LAST_MORE
        if samples >= max(_least_samples(learner), more * self._samples):
            self._samples = samples
            self._tuner.use_net(learner.net)
            self._is_new = True

    def close(self) -> None:
        """Saves what was learned, if that is wanted."""
        if self.save is not None and (learned := self.learned) is not None:
            self.save(learned)

    def adopt(self, search: BatchedMcts) -> None:
        """The search goes on with what is best so far."""
        best = self._tuner.best
        if best.settings != search.settings or (best.needs_net and search.net is not self._tuner.net):
            search.adopt(best.settings, self._tuner.net if best.needs_net else None)


def _least_samples(learner: Learner) -> int:
    """Before its net is tried."""
    return _LEARNED_BY_PATTERNS if learner.has_patterns else _LEARNED_SAMPLES


class TreeSearch:
    """A search tree that is kept from move to move."""

    def __init__(
        self,
        machine: CircuitMachine,
        role: str,
        settings: SearchSettings,
        seed: int,
        improver: Improver | None = None,
        known: Knowledge | None = None,
    ) -> None:
        """known: from before the match; used here only without an improver."""
        self._search = BatchedMcts(machine, settings, seed)
        self._role = role
        self._improver = improver
        self._trained = 0.0 if known is None else known.origin.seconds
        if improver is not None:
            improver.adopt(self._search)
        elif known is not None:
            weight = settings.prior_weight or PRIOR_WEIGHT
            self._search.adopt(replace(settings, prior_weight=weight), known.net)
        self._idle = 0.0  # seconds in which nothing was asked, before this moment's pondering
        self._moves = frozenset(machine.compiled.moves[machine.roles.index(role)])
        self._search.run(lambda: False, 1)  # here, where no answer is due: the first visits take longest

    def think(self, state: Facts, thought: Thought) -> None:
        search = self._search
        search.force(self._role, None)
        search.go_to(state)
        playouts, began = search.playouts, perf_counter()

        def look() -> bool:
            result = search.result(self._role)
            made, seconds = search.playouts - playouts, perf_counter() - began
            best = result.best if is_informed(result) else thought.move
            thought.offer(
                best, _note(result, made, seconds), partial(_evaluation, result, made, seconds, self._trained)
            )
            return is_settled(result)

        self._run(thought, look)
        if search.is_solved and not is_informed(search.result(self._role)):
            raise EvaluationError("what the state is worth is proven, but not which move is")
        thought.evaluate(partial(self._with_line, thought.evaluation, thought.move))

    def ponder(self, state: Facts, move: Term | None, thought: Thought) -> None:
        search = self._search
        search.force(self._role, None)
        search.go_to(state)
        if move is not None and move not in self._moves:
            return
        search.force(self._role, move)
        began = perf_counter()

        def passed() -> float:
            return self._idle + perf_counter() - began

        def look() -> bool:
            if self._improver is not None and not search.is_solved:
                self._improver.work(search, state, thought, passed, start=move is None)
            reports = search.result(self._role).moves if move is not None else ()
            return any(report.move == move and report.lower == report.upper for report in reports)

        self._run(thought, look)
        self._idle = passed()

    def advance(self, move: Term) -> None:
        """The state itself tells where to search."""

    def close(self) -> None:
        self._search.close()
        if self._improver is not None:
            self._improver.close()

    def _with_line(self, evaluation: Evaluation | None, move: Term | None) -> Evaluation | None:
        if evaluation is None:
            return None
        steps = self._search.principal_variation(self._role, move, MOST_STEPS)
        return evaluation.model_copy(update={"principal_variation": tuple(tuple(map(to_text, step)) for step in steps)})

    def _run(self, thought: Thought, look: Callable[[], bool]) -> None:
        """Searches in slices; after each, `look` tells whether there is nothing left to find out."""
        search, visits = self._search, 1
        while not look() and not search.is_solved and not thought.stop():
            before, began = search.visits, perf_counter()
            search.run(thought.stop, visits)
            seconds = perf_counter() - began
            if search.visits == before and not thought.stop():
                break  # a terminal state, or no room at all
            visits = 2 * visits if seconds < _SLICE_SECONDS else max(1, visits // 2)
        look()


class EquilibriumSearch:
    """For two opposed roles who see everything and choose at once: an equilibrium, once all that can follow is solved.

    Where there is no room for all states it is tried again from later ones; until then the tree chooses.
    """

    def __init__(
        self, machine: CircuitMachine, role: str, seed: int, memory_bytes: int, tree: TreeSearch, planned: float = inf
    ) -> None:
        """planned: seconds that there are before the first step, about."""
        self._machine, self._role, self._memory_bytes, self._tree = machine, role, memory_bytes, tree
        self._planned = planned
        self._rng = Random(f"mixed {seed}")  # noqa: S311 - not for secrets
        self._solver: BackwardInduction | None = None
        self._images: Images | None = None
        self._looks_for_symmetries = True
        self._is_hopeless = False  # from any state
        self._tried: Facts | None = None  # the state from which there was no room

    def think(self, state: Facts, thought: Thought) -> None:
        until = thought.now() + (thought.stop_at - thought.now()) / _SOLVING_PART
        self._solve(state, lambda: thought.stop() or thought.now() >= until, until - thought.now())
        if not self._offer(state, thought):
            self._tree.think(state, thought)

    def ponder(self, state: Facts, move: Term | None, thought: Thought) -> None:
        self._solve(state, thought.stop, min(thought.stop_at - thought.now(), self._planned))
        if self._solver is None or not self._solver.is_solved:
            self._tree.ponder(state, move, thought)

    def advance(self, move: Term) -> None:
        """The state itself tells where to search."""

    def close(self) -> None:
        self._solver = None
        self._tree.close()

    def _solve(self, state: Facts, stop: Callable[[], bool], seconds: float) -> None:
        """Until all that can follow is solved, cannot be, or `stop()`; seconds: that there are until then."""
        packed = self._machine.packed(state)
        if packed is None or self._is_hopeless or state == self._tried:
            return
        if self._looks_for_symmetries and seconds >= _LEAST_PLANNED:
            self._looks_for_symmetries = False
            limit = min(seconds / _SYMMETRIES_SHARE, _MOST_SYMMETRIES)
            batches = self._machine.batches
            found = find_symmetries(self._machine.rulesheet, batches, stop, seconds=limit, exact=True)
            self._images = None if found is None else images_of(found, same_roles=True)
        if self._solver is None or self._solver.find_image(packed) is None:
            self._solver = BackwardInduction(self._machine, packed, self._memory_bytes, self._images)
        solver = self._solver
        while not (solver.is_solved or solver.why_failed or stop()):
            solver.advance()
        if solver.why_failed:
            log.info("no equilibrium by backward induction: %s", solver.why_failed)
            self._tried, self._solver = state, None
            self._is_hopeless = not solver.is_full

    def _offer(self, state: Facts, thought: Thought) -> bool:
        """A move drawn from the strategy; whether there is one that matters in the state."""
        solver, packed = self._solver, self._machine.packed(state)
        found = None if solver is None or packed is None or not solver.is_solved else solver.find_image(packed)
        if solver is None or found is None or not solver.can_choose(found[0], self._role):
            return False
        own = solver.roles.index(self._role)
        moves, value = solver.strategies(*found)[own], solver.values(found[0])[own]
        (move,) = self._rng.choices(list(moves), list(moves.values()))
        note = f"an equilibrium plays {to_text(move)} with {moves[move]:.1%}, value {value:.1f}"
        thought.offer(move, note, lambda: Evaluation(value=value, visits=solver.states))
        return True


class LineSearch:
    """The best line of moves found so far is played; the tree chooses only while there is none."""

    def __init__(self, machine: CircuitMachine, planner: Planner, tree: TreeSearch) -> None:
        self._machine = machine
        self._planner = planner
        self._tree = tree
        self._ahead: Term | None = None  # the move that pondering has made already

    def think(self, state: Facts, thought: Thought) -> None:
        self._ahead = None
        half = (thought.now() + thought.stop_at) / 2  # without a line by then, the tree has the rest

        def stop() -> bool:
            line = self._planner.best
            if line is not None and line.moves:
                proven = "the best there is" if line.is_best else "the best so far"
                thought.offer(line.moves[0], f"a line of {len(line.moves)} moves to {line.value}, {proven}")
            return thought.stop() or (line is None and thought.now() >= half)

        self._planner.search(state, stop)
        stop()
        thought.evaluate(self._evaluation)
        if self._planner.best is None and not thought.stop():
            self._tree.think(state, thought)

    def ponder(self, state: Facts, move: Term | None, thought: Thought) -> None:
        if move is not None:
            if self._ahead is None:
                self._planner.advance(move)
                self._ahead = move
            state = self._machine.next_state(state, (move,))
        if not self._machine.is_terminal(state):
            self._planner.search(state, thought.stop)

    def advance(self, move: Term) -> None:
        if self._ahead != move:
            self._planner.advance(move)
        self._ahead = None

    def close(self) -> None:
        self._planner.close()
        self._tree.close()

    def _evaluation(self) -> Evaluation | None:
        """A line that is known can be played to its end: what it reaches is sure."""
        line = self._planner.best
        if line is None:
            return None
        value = float(line.value)
        highest = value if line.is_best else float(max(self._machine.compiled.goals[0], default=100))
        steps = tuple((to_text(move),) for move in line.moves[:MOST_STEPS])
        return Evaluation(value=value, lower=value, upper=max(value, highest), principal_variation=steps)


def is_settled(result: SearchResult) -> bool:
    """Whether the best move is proven to be no worse than any other."""
    best = _best(result)
    return best is not None and all(best.lower >= report.upper for report in result.moves if report is not best)


def is_informed(result: SearchResult) -> bool:
    """Whether the best move is more than the first of many: it was visited, or what it is worth is known otherwise."""
    best = _best(result)
    return best is not None and (result.visits > 0 or best.value is not None)


def _best(result: SearchResult) -> MoveReport | None:
    return next((report for report in result.moves if report.move == result.best), None)


def _evaluation(result: SearchResult, playouts: int, seconds: float, trained: float) -> Evaluation | None:
    """What the best move is worth, after so many seconds of training; None where nothing is known of it."""
    best = _best(result)
    if best is None or not is_informed(result):
        return None
    lower, upper = 100 * best.lower, 100 * best.upper
    value = None if best.value is None else min(max(100 * best.value, lower), upper)
    rate = per_second(playouts, seconds)
    is_open = (lower, upper) == (0, 100)
    if value is None and is_open:  # it is the first of moves that have no visit, though others were visited
        return None
    return Evaluation(
        value=value,
        lower=None if is_open else lower,
        upper=None if is_open else upper,
        visits=result.visits,
        prior=best.prior,
        playouts_per_second=rate,
        trained_seconds=trained,
    )


def _note(result: SearchResult, playouts: int, seconds: float) -> str:
    best = _best(result)
    value = "" if best is None or best.value is None else f", value {100 * best.value:.1f}"
    proven = " proven" if best is not None and best.lower == best.upper else ""
    return f"{result.visits:,} visits, {playouts:,} playouts in {seconds:.2f} s{value}{proven}"
