"""A state machine in another process, with bounds: what a referee asks → requests to an evaluator."""

import asyncio
from collections.abc import Mapping
from typing import Any

from gamemaster.web.evaluators import Evaluator
from gamemaster.web.sources import Source
from ggp.errors import UnknownRoleError
from ggp.game import Game
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.gdl.state_machine import Facts, JointMove
from ggp.gdl.terms import Term
from ggp.library import Metadata

_REMEMBERED = 4  # states


class RemoteMachine:
    """As `ggp.gdl.state_machine.StateMachine`; called from threads other than that of the event loop.

    EvaluationError also for a state that takes too long.
    """

    def __init__(self, evaluator: Evaluator, source: Source, loaded: Mapping[str, Any], seconds: float) -> None:
        """`loaded` is the answer to loading the game; made in the event loop that asks the evaluator."""
        self._evaluator = evaluator
        self._source = source
        self._loop = asyncio.get_running_loop()
        self._seconds = seconds
        self._roles: tuple[str, ...] = tuple(loaded["roles"])
        self._engine: str = loaded["engine"]
        self._situations: dict[Facts, Mapping[str, Any]] = {}
        self._initial: Facts | None = None

    @property
    def engine(self) -> str:
        return self._engine

    @property
    def roles(self) -> tuple[str, ...]:
        return self._roles

    @property
    def initial_state(self) -> Facts:
        if self._initial is None:
            self._initial = self._remember(self._ask({"do": "situation", "state": None}))
        return self._initial

    def legal_moves(self, state: Facts, role: str) -> tuple[Term, ...]:
        situation = self._situation(state)
        self._check(role)
        return tuple(map(_term, situation["legal"][role])) if "legal" in situation else ()

    def next_state(self, state: Facts, joint_move: JointMove) -> Facts:
        return self._remember(self._ask({"do": "next", "state": list(state), "moves": joint_move}))

    def is_terminal(self, state: Facts) -> bool:
        return bool(self._situation(state)["terminal"])

    def goal_values(self, state: Facts, role: str) -> tuple[int, ...]:
        self._check(role)
        situation = self._situation(state)
        if "goals" not in situation:
            situation = self._ask({"do": "goals", "state": list(state)})
        return tuple(situation["goals"][role])

    def goal(self, state: Facts, role: str) -> int | None:
        values = self.goal_values(state, role)
        return values[0] if len(values) == 1 else None

    def percepts(self, state: Facts, joint_move: JointMove, role: str) -> tuple[Term, ...]:
        self._check(role)
        answer = self._ask({"do": "percepts", "state": list(state), "moves": joint_move, "role": role})
        return tuple(map(_term, answer))

    def _situation(self, state: Facts) -> Mapping[str, Any]:
        if state not in self._situations:
            self._remember(self._ask({"do": "situation", "state": list(state)}))
        return self._situations[state]

    def _remember(self, situation: Mapping[str, Any]) -> Facts:
        state = frozenset(map(_term, situation["state"]))
        self._situations[state] = situation
        while len(self._situations) > _REMEMBERED:
            self._situations.pop(next(iter(self._situations)))
        return state

    def _check(self, role: str) -> None:
        if role not in self._roles:
            raise UnknownRoleError(f"no role is called {role!r}; the roles are {', '.join(self._roles)}")

    def _ask(self, request: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON
        asked = self._evaluator.ask(self._source, request, self._seconds)
        return asyncio.run_coroutine_threadsafe(asked, self._loop).result()


async def remote_game(evaluator: Evaluator, source: Source, seconds: float) -> Game:
    """The game, evaluated by a process that is its own; GgpError when it cannot be loaded."""
    loaded = await evaluator.ask(None, {"do": "load", **source.as_request()}, seconds)
    evaluator.known.add(source.key)
    rulesheet = await asyncio.to_thread(parse_rulesheet, source.text, source.name)
    machine = RemoteMachine(evaluator, source, loaded, seconds)
    return Game(source.name, rulesheet, machine, Metadata(drawing=dict(source.drawing)), loaded["fallback"])


def _term(value: Any) -> Term:  # noqa: ANN401 - a string, or a list of the same
    return value if isinstance(value, str) else tuple(map(_term, value))
