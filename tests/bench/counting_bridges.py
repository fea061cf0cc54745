"""Games of counting and small boards: our moves ⇄ OpenSpiel's actions, where one of ours is several of theirs."""

from typing import Any

from ggp.gdl.terms import Term
from tests.bench.bridge import Bridge


class Sowing(Bridge):
    """Kalah and oware: pits are named by their role."""

    def moves(self, state: Any) -> dict[Term, int]:  # noqa: ANN401 - here and below: OpenSpiel is not annotated
        side = "sn"[state.current_player()]
        first = 0 if self.game == "oware" else {"s": 1, "n": 8}[side]
        return {("sow", f"{side}{action - first + 1}"): action for action in state.legal_actions()}


class Ultimate(Bridge):
    """Ultimate tic-tac-toe: the choice of a small board is an action of its own there; this one stands for the last."""

    def _ways(self, state: Any) -> dict[Term, tuple[int, ...]]:  # noqa: ANN401
        found: dict[Term, tuple[int, ...]] = {}
        for action in state.legal_actions():
            if "Choose" in state.action_to_string(state.current_player(), action):
                inner = state.child(action)
                found |= {_cell(action, cell): (action, cell) for cell in inner.legal_actions()}
            else:
                found[_cell(_board(state, action), action)] = (action,)
        return found

    def moves(self, state: Any) -> dict[Term, int]:  # noqa: ANN401
        return {move: actions[-1] for move, actions in self._ways(state).items()}

    def apply(self, state: Any, joint_move: tuple[Term, ...]) -> None:  # noqa: ANN401
        for action in self._ways(state)[joint_move[state.current_player()]]:
            state.apply_action(action)


def _board(state: Any, action: int) -> int:  # noqa: ANN401
    """The small board in which an action marks a cell, read from OpenSpiel's own words for it."""
    words = state.action_to_string(state.current_player(), action)
    return int(words.split()[2].strip(":"))


def _cell(board: int, cell: int) -> Term:
    return ("mark", *(str(number + 1) for number in (board % 3, board // 3, cell % 3, cell // 3)))


def _unused(action: int) -> Term:
    raise KeyError(action)


KALAH = Sowing("mancala", _unused)
OWARE = Sowing("oware", _unused)
ULTIMATE = Ultimate("ultimate_tic_tac_toe", _unused)
