"""Chess as python-chess plays it, in the words of our rulesheet."""

import chess

from ggp.gdl.reader import read
from ggp.gdl.state_machine import Facts
from ggp.gdl.terms import Term

WINGS = {"short": chess.Board.has_kingside_castling_rights, "long": chess.Board.has_queenside_castling_rights}
COLOURS = {"white": chess.WHITE, "black": chess.BLACK}


def facts_of(board: chess.Board) -> Facts:
    facts = [f"(cell {_cell(square)} {_piece(piece)})" for square, piece in board.piece_map().items()]
    facts += [f"(control {_role(board)})", f"(quiet {board.halfmove_clock})"]
    for role, colour in COLOURS.items():
        facts += [f"(castling {role} {wing})" for wing, has_rights in WINGS.items() if has_rights(board, colour)]
    if board.ep_square is not None:
        facts.append(f"(passant {chess.FILE_NAMES[chess.square_file(board.ep_square)]})")
    return frozenset(node.term for node in read(" ".join(facts)))


def moves_of(board: chess.Board) -> dict[Term, chess.Move]:
    """The legal moves of the role on turn, by what our rules call them."""
    return {_move(move): move for move in board.legal_moves}


def goals_of(board: chess.Board) -> tuple[int, int]:
    if not board.is_checkmate():
        return 50, 50
    return (0, 100) if board.turn else (100, 0)


def is_over(board: chess.Board) -> bool:
    """Draws by repetition and seventy-five moves apart, which our rules bound by fifty moves."""
    return not any(board.legal_moves) or board.halfmove_clock >= 100 or board.is_insufficient_material()


def _move(move: chess.Move) -> Term:
    words = tuple(move.uci()[:4])
    return ("promote", *words, chess.piece_name(move.promotion)) if move.promotion else ("move", *words)


def _cell(square: chess.Square) -> str:
    return " ".join(chess.square_name(square))


def _piece(piece: chess.Piece) -> str:
    return f"{'white' if piece.color else 'black'}_{chess.piece_name(piece.piece_type)}"


def _role(board: chess.Board) -> str:
    return "white" if board.turn else "black"
