"""Searches for users of the library: with functions of their own, and trees that can be looked into.

search = ggp.Search(state, evaluator=my_values, prior=my_weights)
search.run(seconds=2)
search.tree(depth=2)        # children, visits, values, bounds, the principal variation; JSON and SVG
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Lock
from time import perf_counter
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from ggp.analysis import Analysis, GivenSettings, TreeAnalyser, first_chooser, search_settings
from ggp.batches import StateBatch, as_worth, machine_of
from ggp.errors import SettingsError, UnknownRoleError
from ggp.game import State, check_playable, check_state
from ggp.gdl.terms import to_text

if TYPE_CHECKING:
    from ggp.search.mcts.guidance import Guidance
    from ggp.search.mcts.result import Reader
    from ggp.search.mcts.search import BatchedMcts
    from ggp.simulation.evaluate import Bits

Evaluator: TypeAlias = Callable[[StateBatch], NDArray[np.float64]]
"""n states → (n, R) the goal values, 0 to 100, that each role can expect of them."""
Prior: TypeAlias = Callable[[StateBatch], NDArray[np.float64]]
"""n states → (n, M) weights of all moves, as the columns of `StateBatch.legal`; those of illegal moves do not count."""


@dataclass(frozen=True, slots=True)
class MoveStatistics:
    """What the search knows of a move of one role in a state; goal values from 0 to 100."""

    move: str
    visits: int
    value: float | None  # the mean; None without a visit
    bounds: tuple[float, float]  # proven
    prior: float | None  # None without a prior


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A state in a search tree, as it was when it was looked at; goal values from 0 to 100 by role."""

    state: State = field(repr=False)
    joint_move: Mapping[str, str]  # that led here from the node above; empty at the root
    label: str  # the same for people, without the moves of those who had no choice
    visits: int
    values: Mapping[str, float | None]  # means; None without a visit
    bounds: Mapping[str, tuple[float, float]]  # proven
    moves: Mapping[str, tuple[MoveStatistics, ...]] = field(repr=False)  # most visited first; none where it is a leaf
    children: "tuple[TreeNode, ...]" = field(repr=False, default=())  # that were asked for, most visited first

    @property
    def principal_variation(self) -> tuple[Mapping[str, str], ...]:
        """Joint moves, as `State.play` takes them, by way of the most visited child of each node, as far as it goes."""
        if not self.children:
            return ()
        best = self.children[0]
        return (best.joint_move, *best.principal_variation)

    def as_dict(self) -> dict[str, object]:
        """For JSON, children inside; states as their facts."""
        return {
            "joint_move": dict(self.joint_move),
            "label": self.label,
            "visits": self.visits,
            "values": dict(self.values),
            "bounds": {role: list(bounds) for role, bounds in self.bounds.items()},
            "facts": list(self.state.facts),
            "moves": {
                role: [
                    {"move": one.move, "visits": one.visits, "value": one.value, "bounds": list(one.bounds),
                     "prior": one.prior}
                    for one in moves
                ]
                for role, moves in self.moves.items()
            },
            "children": [child.as_dict() for child in self.children],
        }  # fmt: skip

    def svg(self, role: str | None = None) -> str:
        """The tree as an SVG image: circles by their visits, coloured by the value for a role (the first one)."""
        return _drawn(self, role or self.state.game.roles[0])

    def _repr_svg_(self) -> str:
        """In a notebook."""
        return self.svg()


class Search:
    """A search tree (`mcts`) of one game, kept from state to state. It is a context manager; `close` ends its threads.

    evaluator: what leaves are worth, in place of random playouts; prior: how probable moves are (PUCT). Both are called
    with batches of up to 512 states, from the thread that runs the search: a function in Python makes it slower, the
    more so the less it does with whole arrays. settings: of the search, by their names. role: whose moves `run`
    compares, as in `analyse`. GroundingError where the rules have no circuit, HiddenStateError where they hide states
    from roles; SettingsError for what is done after `close`, and for `run` and `go_to` while one of them is running.
    Its other methods may be called from any thread meanwhile.
    """

    def __init__(
        self,
        state: State,
        *,
        evaluator: Evaluator | None = None,
        prior: Prior | None = None,
        settings: GivenSettings = None,
        role: str | None = None,
        seed: int = 0,
    ) -> None:
        from ggp.search.loading import load_kernels  # noqa: PLC0415 - here and below: numba is slow to load
        from ggp.search.mcts.search import BatchedMcts  # noqa: PLC0415
        from ggp.search.mcts.tuning import PRIOR_WEIGHT  # noqa: PLC0415

        check_state(state)
        chosen = search_settings(settings)
        if prior is not None and not chosen.prior_weight:
            chosen = replace(chosen, prior_weight=PRIOR_WEIGHT)
        if role is not None and role.lower() not in state.game.roles:
            raise UnknownRoleError(f"no role is called {role!r}; the roles are {', '.join(state.game.roles)}")
        self.state = state
        self._role = role
        machine = machine_of(state.game)
        check_playable(state)
        load_kernels()
        self._opened = BatchedMcts(machine, chosen, seed, _guidance(state, evaluator, prior))
        self._is_closed = False
        self._working = Lock()
        self._seconds = 0.0
        self.go_to(state)

    def go_to(self, state: State) -> None:
        """Goes on from another state of the game, with what is known of it. EvaluationError for one of other rules,
        or in which a role has no legal move.
        """
        check_state(state)
        check_playable(state)
        with self._work() as search:
            search.go_to(state.terms)
            self.state = State(self.state.game, state.terms)

    def run(
        self, seconds: float | None = None, *, visits: int | None = None, stop: Callable[[], bool] = lambda: False
    ) -> Analysis:
        """Goes on for so long, for so many visits, until `stop()`, or until the state is solved; what is known then.

        What the evaluator or prior raises is raised here, and the tree stays as it was before.
        """
        if seconds is None and visits is None:
            raise SettingsError("a search is given seconds, or visits")
        if (seconds is not None and not seconds >= 0) or (visits is not None and not visits >= 0):
            raise SettingsError("seconds and visits of a search cannot be negative")
        with self._work() as search:
            began = perf_counter()
            end = None if seconds is None else began + seconds
            search.run(lambda: stop() or (end is not None and perf_counter() >= end), visits)
            self._seconds += perf_counter() - began
            return self.analysis()

    def analysis(self, lines: int = 3) -> Analysis:
        """The best lines, with visits, values and bounds, as `analyse` gives them."""
        role = first_chooser(self.state) if self._role is None else self._role.lower()
        return TreeAnalyser(self.state, self._search, role, lines, self._seconds).report()

    def tree(self, depth: int = 2, *, least_visits: int = 1, most_nodes: int = 200) -> TreeNode:
        """The state with what is below it: so many steps deep, at most so many nodes, those with enough visits."""
        with self._search.reading() as reader:
            return _Looker(self.state, reader, least_visits, most_nodes).look(depth)

    def close(self) -> None:
        self._is_closed = True
        self._opened.close()

    @contextmanager
    def _work(self) -> "Iterator[BatchedMcts]":
        if not self._working.acquire(blocking=False):
            raise SettingsError("the search is running already, in another thread or in a function that it called")
        try:
            yield self._search
        finally:
            self._working.release()

    @property
    def _search(self) -> "BatchedMcts":
        if self._is_closed:
            raise SettingsError("the search is closed")
        return self._opened

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _guidance(state: State, evaluator: Evaluator | None, prior: Prior | None) -> "Guidance":
    """The functions as the search calls them; SettingsError for arrays of a wrong shape or with other than numbers."""
    from ggp.search.mcts.guidance import Guidance  # noqa: PLC0415

    game, machine = state.game, machine_of(state.game)
    roles, moves = len(machine.roles), int(machine.batches.first_move[-1])

    def evaluate(bits: "Bits") -> NDArray[np.float64]:
        assert evaluator is not None
        found = _checked(evaluator(StateBatch(game, bits)), (len(bits), roles), "evaluator")
        return np.clip(as_worth(machine, found), 0.0, 1.0)

    def weigh(bits: "Bits") -> NDArray[np.float64]:
        assert prior is not None
        found = _checked(prior(StateBatch(game, bits)), (len(bits), moves), "prior")
        if (found < 0).any():
            raise SettingsError("the prior gave a weight below 0")
        return found

    return Guidance(evaluate if evaluator else None, weigh if prior else None)


def _checked(given: object, shape: tuple[int, int], name: str) -> NDArray[np.float64]:
    found = np.asarray(given, np.float64)
    if found.shape != shape:
        raise SettingsError(f"the {name} gave an array of shape {found.shape}, not {shape}")
    if not np.isfinite(found).all():
        raise SettingsError(f"the {name} gave a value that is no number")
    return found


class _Looker:
    """Reads nodes out of a tree while its lock is held."""

    def __init__(self, root: State, reader: "Reader", least_visits: int, most_nodes: int) -> None:
        self._root = root
        self._reader = reader
        self._least = least_visits
        self._left = most_nodes

    def look(self, depth: int) -> TreeNode:
        return self._node(self._reader.root, {}, "root", depth)

    def _node(self, node: int, joint_move: Mapping[str, str], label: str, depth: int) -> TreeNode:
        reader, game = self._reader, self._root.game
        values, lower, upper, visits = reader.node(node)
        self._left -= 1
        moves = {
            role: tuple(
                MoveStatistics(
                    to_text(one.move), one.visits, None if one.value is None else 100 * one.value,
                    (100 * one.lower, 100 * one.upper), one.prior,
                )
                for one in sorted(reader.moves(node, at), key=lambda one: -one.visits)
            )
            for at, role in enumerate(game.roles)
        }  # fmt: skip
        return TreeNode(
            State(game, reader.state_of(node)),
            joint_move,
            label,
            visits,
            {role: None if value is None else 100 * value for role, value in zip(game.roles, values, strict=True)},
            {role: (100 * low, 100 * high) for role, low, high in zip(game.roles, lower, upper, strict=True)},
            moves,
            tuple(self._children(node, depth)),
        )

    def _children(self, node: int, depth: int) -> Iterator[TreeNode]:
        """Most visited first, so that those are left out that say least."""
        reader, roles = self._reader, self._root.game.roles
        found = reader.children(node) if depth > 0 else []
        choosers = [len(reader.moves(node, at)) > 1 for at in range(len(roles))] if found else []
        for child, joint_move in sorted(found, key=lambda item: -reader.visits(item[0])):
            if self._left <= 0 or reader.visits(child) < self._least:
                return
            texts = [to_text(move) for move in joint_move]
            chosen = [text for text, has_choice in zip(texts, choosers, strict=True) if has_choice] or texts
            yield self._node(child, dict(zip(roles, texts, strict=True)), " / ".join(chosen), depth - 1)


_WIDTH, _ROW = 150.0, 26.0  # of a step, and of a leaf of the drawing, in pixels
_STYLE = "text{font:12px sans-serif;fill:#1b1f24}path{fill:none;stroke:#8b949e}circle{stroke:#57606a}"


def _drawn(root: TreeNode, role: str) -> str:
    if role not in root.values:
        raise UnknownRoleError(f"no role is called {role!r}; the roles are {', '.join(root.values)}")
    parts: list[Markup] = []
    rows = 0

    def place(node: TreeNode, depth: int) -> float:
        nonlocal rows
        below = [place(child, depth + 1) for child in node.children]
        if not below:
            rows += 1
        y = sum(below) / len(below) if below else _ROW * (rows - 0.5)
        x = 20 + _WIDTH * depth
        for child_y in below:
            curve = Markup('<path d="M{:.0f} {:.1f}C{:.0f} {:.1f} {:.0f} {:.1f} {:.0f} {:.1f}"/>')
            parts.append(curve.format(x, y, x + _WIDTH / 2, y, x + _WIDTH / 2, child_y, x + _WIDTH, child_y))
        parts.append(_circle(node, role, x, y, root.visits))
        return y

    place(root, 0)
    width, height = 20 + _WIDTH * (_depth(root) + 1), _ROW * rows
    head = Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {:.0f} {:.0f}" width="{:.0f}" height="{:.0f}">'
        "<title>Search tree: goal values of {}</title><style>{}</style>"
    ).format(width, height, width, height, role, Markup(_STYLE))  # noqa: S704 - ours
    return str(head + Markup("").join(parts) + Markup("</svg>\n"))


def _circle(node: TreeNode, role: str, x: float, y: float, most: int) -> Markup:
    value, (low, high) = node.values[role], node.bounds[role]
    said = "?" if value is None else f"={value:.0f}" if low == high else f"{value:.0f}"
    label = node.label
    radius = 3 + 7 * (node.visits / max(most, 1)) ** 0.5
    share = 0.5 if value is None else value / 100
    colour = f"hsl({round(120 * share)} 60% 60%)"
    words = f"{label}: {node.visits:,} visits, value {said}, proven {low:.0f} to {high:.0f}"
    return Markup(
        '<g><title>{}</title><circle cx="{:.0f}" cy="{:.1f}" r="{:.1f}" fill="{}"/>'
        '<text x="{:.0f}" y="{:.1f}">{} {}</text></g>'
    ).format(words, x, y, radius, colour, x + radius + 3, y + 4, label if len(label) < 20 else f"{label[:19]}…", said)


def _depth(node: TreeNode) -> int:
    return 1 + max(map(_depth, node.children)) if node.children else 0
