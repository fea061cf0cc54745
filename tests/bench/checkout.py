"""Answers for a contender of the checkout that PYTHONPATH names: lines of JSON from `contenders.CheckoutContender`.

Only what all checkouts since the first player (39d09fb) have in common is asked for.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from tempfile import NamedTemporaryFile
from time import perf_counter, thread_time
from typing import Any

from ggp.errors import GgpError
from tests.bench.bridge import read_rulesheet
from tests.bench.contenders import make_contender

_MATCHES = 10  # that `tuned` plays by what one start clock found


@dataclass(frozen=True, slots=True)
class Limit:
    """As that of `contenders`, which has no clock of the processor in older checkouts."""

    seconds: float | None
    visits: int | None
    of_processor: bool

    def stop(self) -> Callable[[], bool]:
        """Whether the time is over, counted from now; never where visits are counted."""
        if self.seconds is None:
            return lambda: False
        now = thread_time if self.of_processor else perf_counter
        deadline = now() + self.seconds
        return lambda: now() >= deadline


class Server:
    """One contender, asked in terms as JSON has them."""

    def __init__(self, text: str, rules: str) -> None:
        with NamedTemporaryFile("w", suffix=".kif", encoding="utf-8") as file:
            file.write(rules)
            file.flush()
            self._contender: Any = make_contender(text, read_rulesheet(file.name))
        self._is_tuned = text.partition(":")[0] == "tuned"
        self._matches = 0
        self._found: Any = None  # settings

    def new_match(self, role: str, seed: int) -> None:
        contender = self._contender
        if self._is_tuned and self._matches % _MATCHES:
            untuned: Any = super(type(contender), contender)
            untuned.new_match(role, seed)
            contender._search.adopt(self._found)
        else:
            contender.new_match(role, seed)
            self._found = contender._search.settings if self._is_tuned else None
        self._matches += 1

    def choose(self, state: Any, legal: Any, limit: dict[str, Any]) -> tuple[int | None, int, int]:  # noqa: ANN401
        """The number of a legal move, None without one; playouts and visits."""
        moves = to_term(legal)
        choice = self._contender.choose(frozenset(to_term(state)), moves, Limit(**limit))
        return None if choice.move is None else moves.index(choice.move), choice.playouts, choice.visits

    def advance(self, joint_move: Any) -> None:  # noqa: ANN401
        self._contender.advance(to_term(joint_move))


def to_term(value: Any) -> Any:  # noqa: ANN401
    """Lists → tuples, to any depth."""
    return tuple(map(to_term, value)) if isinstance(value, list) else value


def main() -> int:
    try:
        server = Server(sys.argv[1], *json.loads(sys.stdin.readline()))
        print("null", flush=True)
        for line in sys.stdin:
            name, *arguments = json.loads(line)
            print(json.dumps(getattr(server, name)(*arguments)), flush=True)
    except GgpError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
