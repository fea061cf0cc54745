"""What sentences of the rules of board games say about a state: read by `test_board_games`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Case:
    """A state by its facts, or the initial one after some moves, and what holds there. Lists are texts of GDL terms."""

    game: str
    sentence: str
    facts: str = ""
    after: str = ""  # moves from the initial state, each by the role that has it
    legal: str = ""  # all of these are moves of a role
    only: str = ""  # exactly these are the moves of the role that has a choice
    illegal: str = ""  # none of these is a move of a role
    move: str = ""  # one that is made then
    then: str = ""  # facts that hold afterwards
    gone: str = ""  # facts that do not
    next_only: str = ""  # exactly the moves afterwards
    goals: tuple[int, ...] = ()
    is_end: bool | None = None


def stones(**places: str) -> str:
    """Stones of roles by the names of their points, such as `a1`; black is on turn."""
    cells = [(place, role) for role in places for place in places[role].split()]
    return "(control black) " + " ".join(f"(cell {place[0]} {place[1:]} {role})" for place, role in cells)


HEX = "(cell a 1 red) (cell a 2 red) (cell a 3 red) (cell a 4 red) (cell a 5 red) (cell a 6 red)"
HEX_LINKS = " ".join(f"(linked red a {row})" for row in range(1, 7))
GO_STEP = "(control black) (step 6)"

CASES = (
    Case("hex7", "In its first turn blue may swap", after="(place b 3)", legal="swap"),
    Case("hex7", "red may not swap", illegal="swap"),
    Case("hex7", "only in its first turn", after="(place b 3) (place a 1) (place a 2)", illegal="swap"),
    Case("hex7", "red's stone becomes blue's, mirrored on the long diagonal", after="(place b 3)", move="swap",
         then="(cell c 2 blue) (control red)", gone="(cell b 3 red)"),
    Case("hex7", "red connects the top with the bottom", f"{HEX} {HEX_LINKS} (control red)", move="(place a 7)",
         is_end=True, goals=(100, 0)),
    Case("hex7", "cells of two rows touch if the lower one is in the same column or the one to the left",
         f"{HEX} {HEX_LINKS} (cell b 6 red) (linked red b 6) (control red)", move="(place b 7)", is_end=True),
    Case("hex7", "a cell of the next row to the right does not touch", f"{HEX} {HEX_LINKS} (control red)",
         move="(place b 7)", is_end=False, goals=(50, 50)),
    Case("hex7", "blue connects the left with the right, also by a stone in the middle",
         "(cell a 4 blue) (linked blue a 4) (cell b 4 blue) (linked blue b 4) (cell d 4 blue) (cell e 4 blue)"
         " (cell f 4 blue) (cell g 4 blue) (control blue)", move="(place c 4)", is_end=True, goals=(0, 100)),
    Case("y9", "who connects all three sides wins", "(cell b 1 white) (linked top b 1) (linked slope a 9)"
         " (cell a 2 white) (linked top a 2) (linked left a 2) (control white)"
         + "".join(f" (cell {x} {10 - y} white) (linked slope {x} {10 - y})" for y, x in enumerate("bcdefg", 2)),
         move="(place h 2)", is_end=False),
    Case("y9", "a corner belongs to both sides that meet there", move="(place a 1)",
         then="(linked top a 1) (linked left a 1)", gone="(linked slope a 1)"),
    Case("havannah4", "a bridge between two corners", "(cell e 1 white) (cell f 1 white) (cell d 1 white)"
         " (linked corner 1 d 1) (linked corner 1 e 1) (linked corner 1 f 1) (control white)",
         move="(place g 1)", is_end=True, goals=(100, 0)),
    Case("havannah4", "a ring around an empty cell", "(cell d 3 black) (cell e 3 black) (cell e 4 black)"
         " (cell d 5 black) (cell c 5 black) (control black)", move="(place c 4)", is_end=True, goals=(0, 100)),
    Case("havannah4", "a ring around a stone of the other role", "(cell d 3 black) (cell e 3 black) (cell e 4 black)"
         " (cell d 5 black) (cell c 5 black) (cell d 4 white) (control black)", move="(place c 4)", is_end=True),
    Case("havannah4", "seven stones of one role without a gap are a ring", "(cell d 3 white) (cell e 3 white)"
         " (cell e 4 white) (cell d 5 white) (cell c 5 white) (cell c 4 white) (control white)",
         move="(place d 4)", is_end=True),
    Case("havannah4", "five stones around a cell are none", "(cell d 3 white) (cell e 3 white) (cell e 4 white)"
         " (cell d 5 white) (control white)", move="(place c 5)", is_end=False, goals=(50, 50)),
    Case("go5", "chains without a liberty are taken off", f"(cell b 2 white) (cell b 3 white) (cell a 2 black)"
         f" (cell a 3 black) (cell c 2 black) (cell c 3 black) (cell b 1 black) {GO_STEP}", move="(place b 4)",
         then="(cell b 4 black) (control white)", gone="(cell b 2 white) (cell b 3 white)"),
    Case("go5", "suicide is forbidden", f"(cell a 2 white) (cell b 1 white) {GO_STEP}", illegal="(place a 1)"),
    Case("go5", "also of a chain", f"(cell a 1 black) (cell b 1 white) (cell b 2 white) (cell a 3 white) {GO_STEP}",
         illegal="(place a 2)"),
    Case("go5", "a stone may take the last liberty of its own chain if it takes others off",
         f"(cell a 2 white) (cell b 1 white) (cell a 3 black) (cell b 2 black) (cell c 1 black) {GO_STEP}",
         move="(place a 1)", then="(cell a 1 black)", gone="(cell a 2 white) (cell b 1 white)"),
    Case("go5", "a single stone that took a single stone may not be retaken at once",
         f"(cell b 2 white) (cell a 3 white) (cell c 3 white) (cell b 4 white) (cell c 2 black) (cell d 3 black)"
         f" (cell c 4 black) {GO_STEP}",
         move="(place b 3)", then="(ko c 3)", gone="(cell c 3 white)"),
    Case("go5", "ko forbids one point", "(ko c 3) (cell b 2 white) (cell a 3 white) (cell b 4 white) (cell b 3 black)"
         " (cell c 2 black) (cell d 3 black) (cell c 4 black) (control white) (step 7)", illegal="(place c 3)",
         move="(place e 5)", gone="(ko c 3)"),
    Case("go5", "a stone that took two is no ko", "(cell a 1 white) (cell b 1 white) (cell a 2 black) (cell b 2 black)"
         f" {GO_STEP}", move="(place c 1)", gone="(ko a 1) (ko b 1) (cell a 1 white)"),
    Case("go5", "two passes in a row end the match", after="pass", move="pass", is_end=True, goals=(0, 100)),
    Case("go5", "two passes that are not in a row do not", after="pass (place a 1)", move="pass", is_end=False),
    Case("go5", "empty points that only stones of one role reach are its own", f"(cell c 3 black) {GO_STEP}",
         goals=(100, 0)),
    Case("go5", "points that both reach are nobody's", f"(cell c 3 black) (cell a 1 white) {GO_STEP}", goals=(0, 100)),
    Case("go5", "white has 7.5 points more: 16 to 9 are not enough", "(control black) (step 9)"
         + "".join(f" (cell {x} {y} {'black' if y > 2 else 'white'})" for x in "abcde" for y in range(1, 6)
                   if (x, y) not in (("a", 3), ("a", 1))) + " (cell a 3 white)", goals=(0, 100)),
    Case("go5", "17 to 8 are", "(control black) (step 9)" + "".join(
         f" (cell {x} {y} {'black' if y > 2 or (x, y) in (('a', 2), ('b', 2)) else 'white'})"
         for x in "abcde" for y in range(1, 6) if (x, y) != ("e", 1)), goals=(100, 0)),
    Case("draughts", "men go one cell forward aslant", "(cell c 3 white_man) (cell a 7 black_man) (control white)"
         " (quiet 0)", only="(move c 3 b 4) (move c 3 d 4)"),
    Case("draughts", "kings go backwards too", "(cell c 3 white_king) (cell a 7 black_man) (control white) (quiet 0)",
         only="(move c 3 b 4) (move c 3 d 4) (move c 3 b 2) (move c 3 d 2)"),
    Case("draughts", "who can jump must", "(cell c 3 white_man) (cell g 3 white_man) (cell d 4 black_man)"
         " (control white) (quiet 0)", only="(jump c 3 e 5)", move="(jump c 3 e 5)", then="(cell e 5 white_man)",
         gone="(cell d 4 black_man) (cell c 3 white_man)"),
    Case("draughts", "men do not jump backwards", "(cell e 5 white_man) (cell d 4 black_man) (control white) (quiet 0)",
         illegal="(jump e 5 c 3)"),
    Case("draughts", "and goes on with the same piece as long as it can", "(cell c 3 white_man) (cell d 4 black_man)"
         " (cell f 6 black_man) (cell g 3 white_man) (cell h 4 black_man) (control white) (quiet 5)",
         move="(jump c 3 e 5)", then="(control white) (jumping e 5) (quiet 0)", next_only="(jump e 5 g 7)"),
    Case("draughts", "a man that reaches the last row becomes a king and its turn ends", "(cell d 6 white_man)"
         " (cell e 7 black_man) (cell g 7 black_man) (control white) (quiet 5)", move="(jump d 6 f 8)",
         then="(cell f 8 white_king) (control black)"),
    Case("draughts", "forty moves of each without a jump or a move of a man are a draw", "(cell c 3 white_king)"
         " (cell a 7 black_man) (control white) (quiet 79)", move="(move c 3 b 4)", is_end=True, goals=(50, 50)),
    Case("draughts", "who cannot move loses", "(cell a 3 white_man) (cell b 4 black_man) (cell c 5 black_man)"
         " (control white) (quiet 0)", is_end=True, goals=(100, 0)),
    Case("draughts10", "men go one cell forward aslant", "(cell c 3 white_man) (cell a 7 black_man) (control white)"
         " (quiet 0)", only="(move c 3 b 4) (move c 3 d 4)"),
    Case("draughts10", "kings any number of empty cells", "(cell c 3 white_king) (cell f 6 white_man)"
         " (cell a 7 black_man) (control white) (quiet 0)", legal="(move c 3 e 5) (move c 3 a 1) (move c 3 a 5)"
         " (move c 3 e 1)", illegal="(move c 3 g 7)"),
    Case("draughts10", "men take forward and backward", "(cell e 5 white_man) (cell d 4 black_man) (control white)"
         " (quiet 3)", only="(jump e 5 c 3)", move="(jump e 5 c 3)", then="(cell c 3 white_man) (quiet 0)",
         gone="(cell d 4 black_man) (cell e 5 white_man)"),
    Case("draughts10", "a king takes at any distance and lands on any empty cell behind", "(cell a 1 white_king)"
         " (cell d 4 black_man) (cell h 8 black_man) (cell i 9 black_man) (control white) (quiet 3)",
         only="(jump a 1 e 5) (jump a 1 f 6) (jump a 1 g 7)"),
    Case("draughts10", "not over two pieces, nor over its own", "(cell a 1 white_king) (cell d 4 black_man)"
         " (cell e 5 black_man) (cell a 3 white_man) (cell b 4 white_man) (cell c 5 black_man) (control white)"
         " (quiet 3)", illegal="(jump a 1 f 6) (jump a 3 d 6)"),
    Case("draughts10", "the jump that takes the most is compulsory", "(cell c 3 white_man) (cell d 4 black_man)"
         " (cell f 6 black_king) (cell g 3 white_man) (cell h 4 black_man) (control white) (quiet 3)",
         only="(jump c 3 e 5)", move="(jump c 3 e 5)", then="(control white) (jumping e 5) (taken d 4)"
         " (cell d 4 black_man)", next_only="(jump e 5 g 7)"),
    Case("draughts10", "turns of three pieces and more are equal", "(cell a 1 white_man) (cell b 2 black_man)"
         " (cell d 4 black_man) (cell f 6 black_man) (cell h 8 black_man) (cell a 7 white_man) (cell b 8 black_man)"
         " (cell d 8 black_man) (cell f 8 black_man) (control white) (quiet 3)", only="(jump a 1 c 3) (jump a 7 c 9)"),
    Case("draughts10", "what was taken leaves the board when the turn is over, and is not taken twice",
         "(cell e 5 white_man) (cell d 4 black_man) (taken d 4) (jumping e 5) (cell f 6 black_man) (control white)"
         " (quiet 0)", only="(jump e 5 g 7)", move="(jump e 5 g 7)", then="(control black) (cell g 7 white_man)",
         gone="(cell d 4 black_man) (taken d 4) (cell f 6 black_man)"),
    Case("draughts10", "a man becomes a king only where its turn ends on the last row", "(cell d 8 white_man)"
         " (cell e 9 black_man) (cell g 9 black_man) (control white) (quiet 3)", move="(jump d 8 f 10)",
         then="(cell f 10 white_man) (jumping f 10)", next_only="(jump f 10 h 8)"),
    Case("draughts10", "and there it does", "(cell d 8 white_man) (cell e 9 black_man) (control white) (quiet 3)",
         move="(jump d 8 f 10)", then="(cell f 10 white_king) (control black)"),
    Case("draughts10", "25 moves of each with kings alone and without a jump are a draw", "(cell c 3 white_king)"
         " (cell a 7 black_man) (control white) (quiet 49)", move="(move c 3 b 4)", is_end=True, goals=(50, 50)),
    Case("draughts10", "who cannot move loses", "(cell a 3 white_man) (cell b 4 black_man) (cell c 5 black_man)"
         " (control white) (quiet 0)", is_end=True, goals=(0, 100)),
    Case("amazons8", "moves like a queen of chess, not over what stands there",
         illegal="(move c 1 c 8) (move c 1 g 2)", legal="(move c 1 c 7) (move c 1 g 5)"),
    Case("amazons8", "and then shoots an arrow, the next step of the same role", after="(move c 1 c 3)",
         illegal="(move f 1 f 2) (shoot d 5)", legal="(shoot c 1) (shoot h 8) (shoot b 3)", move="(shoot c 1)",
         then="(cell c 1 arrow) (cell c 3 white) (turn black moving)", gone="(archer c 3)"),
    Case("amazons8", "who cannot move loses", "(cell a 1 white) (cell a 2 arrow) (cell b 1 arrow) (cell b 2 black)"
         " (turn white moving)", is_end=True, goals=(0, 100)),
    Case("clobber", "A move takes a stone of the opponent on a neighbouring cell", "(cell b 2 white) (cell b 3 black)"
         " (cell c 2 white) (cell c 3 black) (cell a 1 black) (control white)",
         only="(move b 2 b 3) (move c 2 c 3)", move="(move b 2 b 3)", then="(cell b 3 white)", gone="(cell b 2 white)"),
    Case("clobber", "who has no move loses", "(cell b 2 white) (cell c 3 black) (control white)", is_end=True,
         goals=(0, 100)),
    Case("konane", "each role takes one of its own off", only="(take a 1) (take d 4) (take e 5) (take h 8)",
         move="(take a 1)", next_only="(take a 2) (take b 1)"),
    Case("konane", "then stones jump over single stones of the opponent", after="(take d 4) (take d 3)",
         legal="(jump f 4 d 4) (jump b 4 d 4)", illegal="(jump d 2 d 4)",
         move="(jump b 4 d 4)", then="(cell d 4 black)", gone="(cell c 4 white) (cell b 4 black)"),
    Case("konane", "once or several times in one direction", "(cell a 1 black) (cell b 1 white) (cell d 1 white)"
         " (cell e 2 white) (control black)", only="(jump a 1 c 1) (jump a 1 e 1)", move="(jump a 1 e 1)",
         then="(cell e 1 black) (cell e 2 white)", gone="(cell b 1 white) (cell d 1 white)"),
    Case("konane", "Who cannot jump loses", "(cell a 1 black) (cell c 1 white) (control black)", is_end=True,
         goals=(0, 100)),
    Case("morris", "who closes a mill takes a man of the opponent in the next step",
         "(cell a 7 white) (cell d 7 white) (cell a 1 black) (hand white 7) (hand black 8) (men white 9) (men black 9)"
         " (control white) (quiet 0)", move="(place g 7)", then="taking (control white)", next_only="(take a 1)"),
    Case("morris", "a man in a mill may be taken only if all are in mills", "(cell a 7 white) (cell d 7 white)"
         " (cell g 7 white) (cell a 1 black) (cell d 1 black) (cell g 1 black) (cell b 2 black) (hand white 0)"
         " (hand black 0) (men white 3) (men black 4) (control white) taking (quiet 0)", only="(take b 2)",
         move="(take b 2)", then="(men black 3) (control black)", gone="(cell b 2 black) taking"),
    Case("morris", "all men are in mills", "(cell a 7 white) (cell d 7 white) (cell g 7 white) (cell a 1 black)"
         " (cell d 1 black) (cell g 1 black) (hand white 0) (hand black 0) (men white 3) (men black 3)"
         " (control white) taking (quiet 0)", only="(take a 1) (take d 1) (take g 1)", move="(take a 1)", is_end=True,
         goals=(100, 0)),
    Case("morris", "with three men left a role may move to any empty point", "(cell a 7 white) (cell b 6 white)"
         " (cell c 5 white) (cell a 1 black) (cell d 1 black) (cell g 1 black) (cell b 2 black) (hand white 0)"
         " (hand black 0) (men white 3) (men black 4) (control white) (quiet 0)", legal="(move a 7 g 4)",
         move="(move a 7 g 4)", then="(cell g 4 white)"),
    Case("morris", "a man that moves away closes no mill with its old place", "(cell a 7 white) (cell d 7 white)"
         " (cell b 6 white) (cell d 5 white) (cell a 1 black) (hand white 0) (hand black 0) (men white 4)"
         " (men black 4) (control white) (quiet 3)", move="(move d 7 d 6)", then="(quiet 4) (control black)",
         gone="taking"),
    Case("morris", "who cannot move loses", "(cell a 1 white) (cell a 4 black) (cell d 1 black) (hand white 0)"
         " (hand black 0) (men white 4) (men black 4) (control white) (quiet 0)", is_end=True, goals=(0, 100)),
    Case("ataxx", "stones of the opponent around the new place change sides", "(cell a 1 red) (cell c 3 blue)"
         " (cell d 1 blue) (control red) (quiet 7)", move="(grow b 2)",
         then="(cell a 1 red) (cell b 2 red) (cell c 3 red) (cell d 1 blue) (quiet 0)"),
    Case("ataxx", "or jumps two cells", "(cell a 1 red) (cell d 4 blue) (control red) (quiet 7)",
         move="(jump a 1 c 3)", then="(cell c 3 red) (cell d 4 red) (quiet 8)", gone="(cell a 1 red)", is_end=True,
         goals=(100, 0)),
    Case("ataxx", "A role that can neither grow nor jump passes by noop", "(cell a 1 red) (cell f 7 blue) (control red)"
         " (quiet 0) " + " ".join(f"(cell {x} {y} blue)" for x in "abc" for y in (1, 2, 3) if (x, y) != ("a", 1)),
         move="noop", then="(control blue)"),
    Case("loa", "as many cells as there are stones on that whole line", legal="(move b 1 h 1) (move b 1 b 3)"
         " (move b 1 d 3)", illegal="(move b 1 b 4) (move b 1 a 1) (move b 1 b 2)"),
    Case("loa", "over its own but not over those of the opponent", "(cell a 1 black) (cell b 1 black) (cell c 1 white)"
         " (cell a 2 white) (cell a 3 black) (control black) (quiet 0)", illegal="(move a 1 d 1) (move a 1 a 4)",
         legal="(move b 1 b 2)"),
    Case("loa", "takes it by landing on one", "(cell a 1 black) (cell c 1 white) (cell h 8 black) (cell h 4 white)"
         " (control black) (quiet 9)", move="(move a 1 c 1)", then="(cell c 1 black) (quiet 0)",
         gone="(cell c 1 white)"),
    Case("loa", "Who has all stones connected, also aslant, wins", "(cell a 1 black) (cell b 2 black) (cell e 2 black)"
         " (cell h 8 white) (cell h 1 white) (control black) (quiet 0)", move="(move e 2 c 2)", is_end=True,
         goals=(100, 0)),
    Case("loa", "a single stone is connected", "(cell a 1 black) (cell h 8 white) (cell c 8 white) (control white)"
         " (quiet 0)", is_end=True, goals=(100, 0)),
    Case("loa", "both connected is a draw", "(cell a 1 black) (cell h 8 white) (control white) (quiet 0)", is_end=True,
         goals=(50, 50)),
    Case("gomoku", "the first line of five or more wins", "(control white) " + " ".join(
         f"(cell {x} {y} white)" for x, y in zip("cdefh", (3, 4, 5, 6, 8), strict=True)), move="(place g 7)",
         is_end=True, goals=(0, 100)),
    Case("gomoku", "four do not", "(cell a 1 black) (cell a 2 black) (cell a 3 black) (control black)",
         move="(place a 4)", is_end=False, goals=(50, 50)),
    Case("connect6", "black only one stone in its first turn, then two each", after="(place a 1) (place b 1)",
         legal="(place c 1)", move="(place c 1)", then="(cell a 1 black) (cell c 1 white) (turn black first)"),
    Case("connect6", "five do not win, six do", "(turn white first) " + " ".join(
         f"(cell {x} 9 white)" for x in "abcde"), move="(place f 9)", is_end=True, goals=(0, 100)),
    Case("pente", "the first one on the middle", only="(place j 10)", move="(place j 10)", then="(cell j 10 white)",
         gone="empty_board"),
    Case("pente", "A stone that encloses exactly two stones takes them off", "(cell a 1 white) (cell b 2 black)"
         " (cell c 3 black) (pairs white 0) (pairs black 0) (control white)", move="(place d 4)",
         then="(pairs white 1) (cell d 4 white)", gone="(cell b 2 black) (cell c 3 black)"),
    Case("pente", "not one, and not three", "(cell a 1 white) (cell b 1 black) (cell f 1 white) (cell g 1 white)"
         " (cell a 5 white) (cell a 4 black) (cell a 3 black) (cell a 2 black) (pairs white 0) (pairs black 0)"
         " (control white)", move="(place c 1)", then="(cell b 1 black) (cell a 2 black) (pairs white 0)"),
    Case("pente", "may be placed between two stones of the opponent without being taken", "(cell a 1 black)"
         " (cell b 1 white) (cell d 1 black) (pairs white 0) (pairs black 0) (control white)", move="(place c 1)",
         then="(cell b 1 white) (cell c 1 white) (pairs black 0)"),
    Case("minichess", "no double steps of pawns", only="(move a 2 a 3) (move b 2 b 3) (move c 2 c 3) (move d 2 d 3)"
         " (move e 2 e 3) (move b 1 a 3) (move b 1 c 3)"),
    Case("minichess", "mate", "(cell a 1 white_king) (cell b 2 black_queen) (cell c 3 black_king) (control white)"
         " (quiet 0)", is_end=True, goals=(0, 100)),
    Case("minichess", "a pinned piece stays on its line", "(cell a 1 white_king) (cell a 2 white_rook)"
         " (cell a 5 black_rook) (cell e 5 black_king) (control white) (quiet 0)",
         legal="(move a 2 a 5) (move a 2 a 3)", illegal="(move a 2 b 2)"),
    Case("othello6", "flank discs of the opponent, which are turned over",
         only="(place 2 3) (place 3 2) (place 4 5) (place 5 4)", move="(place 3 2)",
         then="(cell 3 2 black) (cell 3 3 black) (cell 4 4 white)"),
    Case("foxandgeese", "Thirteen geese and a fox", legal="(move a 5 b 4) (move a 5 a 4) (move b 5 b 4)",
         illegal="(move b 5 a 4) (move b 5 c 4) (move d 5 d 4) (move d 4 d 3)"),
    Case("foxandgeese", "in any direction", "(cell d 4 fox) (cell d 2 goose) (cell c 7 goose) (cell g 5 goose)"
         " (cell a 3 goose) (control geese) (left 4) (quiet 5)", only="(move d 2 d 1) (move d 2 d 3) (move d 2 c 2)"
         " (move d 2 e 2) (move d 2 c 1) (move d 2 e 1) (move d 2 c 3) (move d 2 e 3) (move c 7 d 7) (move c 7 c 6)"
         " (move c 7 d 6) (move g 5 g 4) (move g 5 f 5) (move g 5 f 4) (move a 3 a 4) (move a 3 b 3) (move a 3 b 4)"),
    Case("foxandgeese", "Lines aslant meet on every second point", "(cell d 3 fox) (cell a 5 goose) (cell b 5 goose)"
         " (cell c 7 goose) (cell d 7 goose) (control fox) (left 4) (quiet 5)",
         only="(move d 3 d 2) (move d 3 d 4) (move d 3 c 3) (move d 3 e 3)"),
    Case("foxandgeese", "The fox jumps over single geese, which are taken off", "(cell d 4 fox) (cell d 5 goose)"
         " (cell c 3 goose) (cell b 2 goose) (cell e 4 goose) (cell f 4 goose) (cell c 5 goose) (control fox) (left 6)"
         " (quiet 5)", legal="(jump d 4 d 6) (move d 4 d 3)", illegal="(jump d 4 b 2) (jump d 4 g 4) stop",
         move="(jump d 4 d 6)", then="(cell d 6 fox) (left 5) (quiet 0) (control fox) (jumping d 6)",
         gone="(cell d 5 goose) (cell d 4 fox)", next_only="(jump d 6 b 4) stop"),
    Case("foxandgeese", "may stop after each jump of a turn", "(cell d 6 fox) (jumping d 6) (cell c 5 goose)"
         " (cell c 3 goose) (cell b 3 goose) (cell a 3 goose) (control fox) (left 4) (quiet 0)", move="stop",
         then="(control geese) (quiet 1) (cell c 5 goose)", gone="(jumping d 6)"),
    Case("foxandgeese", "The fox need not jump", "(cell d 4 fox) (cell d 5 goose) (cell a 3 goose) (cell a 4 goose)"
         " (cell a 5 goose) (control fox) (left 4) (quiet 0)", legal="(jump d 4 d 6) (move d 4 c 4)"),
    Case("foxandgeese", "it wins when three geese are left", "(cell d 4 fox) (cell d 5 goose) (cell a 3 goose)"
         " (cell a 4 goose) (cell a 5 goose) (control fox) (left 4) (quiet 0)", move="(jump d 4 d 6)", is_end=True,
         goals=(0, 100)),
    Case("foxandgeese", "The geese win when the fox cannot move", "(cell d 7 fox) (cell c 7 goose) (cell e 7 goose)"
         " (cell d 5 goose) (cell d 6 goose) (control fox) (left 4) (quiet 0)", is_end=True, goals=(100, 0)),
    Case("foxandgeese", "A hundred steps without a jump are a draw", "(cell d 4 fox) (cell a 3 goose) (cell b 3 goose)"
         " (cell a 4 goose) (cell a 5 goose) (control fox) (left 4) (quiet 99)", move="(move d 4 d 5)", is_end=True,
         goals=(50, 50)),
    Case("halma", "in all eight directions", "(cell d 4 white) (cell h 1 black) (control white) (turns 7)",
         only="(move d 4 d 5) (move d 4 d 3) (move d 4 c 4) (move d 4 e 4) (move d 4 c 3) (move d 4 c 5)"
         " (move d 4 e 3) (move d 4 e 5)", move="(move d 4 e 5)", then="(cell e 5 white) (control black) (turns 8)",
         gone="(cell d 4 white)"),
    Case("halma", "hops over a neighbouring piece of any role to the empty cell behind", "(cell a 1 white)"
         " (cell b 1 white) (cell a 2 black) (cell b 2 black) (cell c 3 black) (control white) (turns 7)",
         legal="(hop a 1 c 1) (hop a 1 a 3) (hop b 1 b 3)", illegal="(hop a 1 c 3) (move a 1 b 2)",
         move="(hop b 1 b 3)", then="(cell b 2 black) (cell b 3 white) (control white) (hopping b 3) (visited b 1)",
         next_only="(hop b 3 d 3) stop"),
    Case("halma", "Within a turn a piece does not come to a cell where it has been", "(cell d 4 white) (cell e 4 black)"
         " (cell a 1 black) (control white) (turns 7)", move="(hop d 4 f 4)", then="(control black) (turns 8)",
         gone="(hopping f 4) (visited d 4)"),
    Case("halma", "stop after a hop", "(cell d 4 white) (hopping d 4) (visited b 4) (cell c 4 black) (cell d 5 black)"
         " (cell a 8 white) (control white) (turns 7)", only="(hop d 4 d 6) stop", move="stop",
         then="(control black) (turns 8)", gone="(hopping d 4) (visited b 4)"),
    Case("halma", "A piece in the camp that it has to come to stays in that camp", "(cell e 8 white) (cell d 8 black)"
         " (cell f 8 black) (cell h 8 white) (cell g 7 black) (control white) (turns 7)",
         legal="(move e 8 f 7) (hop e 8 g 8)", illegal="(hop e 8 c 8) (move e 8 d 7) (move e 8 e 7) (hop h 8 f 6)"),
    Case("halma", "Who cannot move passes", "(cell e 8 white) (cell f 8 black) (cell g 8 black) (cell f 7 black)"
         " (cell g 6 black) (control white) (turns 7)", only="pass", move="pass", then="(control black) (turns 8)"),
    Case("halma", "all of its cells are taken, and more than half of the pieces there are its own", "(cell e 7 white)"
         " (cell f 8 white) (cell g 8 white) (cell h 8 white) (cell f 7 white) (cell g 7 white) (cell h 7 black)"
         " (cell g 6 black) (cell h 6 black) (cell h 5 black) (control white) (turns 7)", move="(move e 7 e 8)",
         is_end=True, goals=(100, 0)),
    Case("halma", "more than half of the pieces there are its own", "(cell e 7 white)"
         " (cell f 8 white) (cell g 8 white) (cell h 8 white) (cell f 7 white) (cell g 7 black) (cell h 7 black)"
         " (cell g 6 black) (cell h 6 black) (cell h 5 black) (control white) (turns 7)", move="(move e 7 e 8)",
         is_end=False, goals=(50, 50)),
    Case("halma", "all of its cells are taken", "(cell e 7 white)"
         " (cell f 8 white) (cell g 8 white) (cell h 8 white) (cell f 7 white) (cell g 7 white) (cell h 7 white)"
         " (cell g 6 white) (cell h 6 white) (cell g 5 white) (control white) (turns 7)", move="(move e 7 e 8)",
         is_end=False, goals=(50, 50)),
    Case("halma", "who has more pieces in its camp wins", "(cell d 4 white) (cell h 8 white) (cell c 1 black)"
         " (cell a 1 black) (control white) (turns 199)", move="(move d 4 d 5)", is_end=True, goals=(0, 100)),
    Case("halma", "and as many are a draw", "(cell d 4 white) (cell h 8 white) (cell a 1 black) (control white)"
         " (turns 199)", move="(move d 4 d 5)", is_end=True, goals=(50, 50)),
    Case("chinesecheckers2", "A piece goes to a neighbouring cell", "(cell g 7 red) (cell a 10 blue) (control red)"
         " (turns 7)", only="(move g 7 f 7) (move g 7 h 7) (move g 7 g 6) (move g 7 g 8) (move g 7 h 6) (move g 7 f 8)",
         move="(move g 7 h 6)", then="(cell h 6 red) (control blue) (turns 8)"),
    Case("chinesecheckers2", "hops over a neighbouring piece of any role", "(cell g 7 red) (cell h 6 blue)"
         " (cell g 6 red) (cell g 5 blue) (control red) (turns 7)", legal="(hop g 7 i 5)", illegal="(hop g 7 g 5)"),
    Case("chinesecheckers2", "from a point of a star of 73 cells", only="(move d 11 d 10) (move d 11 e 10)"
         " (move e 11 e 10) (move e 11 f 10) (move f 11 f 10) (move f 11 g 10) (hop d 12 d 10) (hop d 12 f 10)"
         " (hop e 12 e 10) (hop e 12 g 10)"),
    Case("chinesecheckers2", "Who first has filled the point opposite wins", "(cell j 1 red) (cell i 2 red)"
         " (cell j 2 red) (cell h 3 red) (cell i 3 blue) (cell j 4 red) (control red) (turns 7)", move="(move j 4 j 3)",
         is_end=True, goals=(100, 0)),
    Case("chinesecheckers3", "to the point opposite, which nobody starts from", "(cell g 7 red) (cell m 4 green)"
         " (cell d 4 blue) (control blue) (turns 9)", move="(move d 4 e 4)", then="(control green)"),
    Case("chinesecheckers3", "those who share that have 50", "(cell j 1 red) (cell a 10 green)"
         " (cell g 7 blue) (control blue) (turns 299)", move="(move g 7 g 6)", is_end=True, goals=(50, 0, 50)),
    Case("chinesecheckers3", "who has more pieces in its camp wins", "(cell j 1 red) (cell i 2 red) (cell a 10 green)"
         " (cell g 7 blue) (control blue) (turns 299)", move="(move g 7 g 6)", is_end=True, goals=(100, 0, 0)),
    Case("chinesecheckers6", "from where another role starts", "(cell j 1 red) (cell d 13 yellow) (cell a 10 purple)"
         " (cell d 4 green) (cell m 4 blue) (cell j 10 orange) (control orange) (turns 359)", move="(move j 10 i 10)",
         is_end=True, goals=(50, 50, 0, 50, 50, 0)),
    Case("renju", "Black wins with exactly five stones", stones(black="c3 d3 e3 f3"), move="(place g 3)", is_end=True,
         goals=(100, 0)),
    Case("renju", "white with five or more", stones(black="a1", white="c3 d3 e3 g3 h3").replace("l black", "l white"),
         move="(place f 3)", is_end=True, goals=(0, 100)),
    Case("renju", "Black must not make a line of six or more", stones(black="c3 d3 e3 g3 h3", white="a1"),
         illegal="(place f 3)", legal="(place b 3) (place i 3)"),
    Case("renju", "unless it makes five", stones(black="c3 d3 e3 g3 h3 f4 f5 f6 f7", white="a1 f8"),
         move="(place f 3)", is_end=True, goals=(100, 0)),
    Case("renju", "two fours or two threes with one stone", stones(black="d5 e5 f5 g6 g7 g8", white="c5 g9"),
         illegal="(place g 5)", legal="(place h 5) (place g 4)"),
    Case("renju", "two fours may be on one line", stones(black="d5 f5 g5 j5", white="a1"), illegal="(place h 5)",
         legal="(place e 5) (place i 5)"),
    Case("renju", "two fours may be on one line", stones(black="d5 f5 g5 h5 j5", white="a1"),
         legal="(place e 5) (place i 5)"),
    Case("renju", "A three is what one more stone makes a four that is open at both ends",
         stones(black="g8 f8 h7 h6", white="h4 a1"), illegal="(place h 8)", legal="(place e 8) (place h 5)"),
    Case("renju", "A three is what one more stone makes a four that is open at both ends",
         stones(black="g8 f8 h7 h6", white="h4 h9"), legal="(place h 8)"),
    Case("renju", "two fours or two threes with one stone", stones(black="f8 g8 h7 h6 h5", white="h4 a1"),
         legal="(place h 8)"),
    Case("renju", "Here a three counts even if black may not place the stone that makes it four",
         stones(black="g8 f8 h7 h6 e9 f9 g9 i9 j9", white="h4 a1"), illegal="(place h 8) (place h 9)"),
    Case("renju", "A board on which the role on turn has no point left to it is a draw", "(control black)" + "".join(
         f" (cell {x} {y} {'black' if (at + 2 * y) % 4 < 2 else 'white'})" for at, x in enumerate("abcdefghijklmno")
         for y in range(1, 16)), is_end=True, goals=(50, 50)),
    Case("minishogi", "each role has a king, a gold, a silver, a bishop, a rook and a pawn", only="(move 5 d 5 c)"
         " (move 4 e 4 d) (move 4 e 3 d) (move 5 e 4 d) (move 3 e 4 d) (move 3 e 3 d) (move 3 e 2 d) (move 2 e 1 d)"
         " (move 2 e 3 d) (move 2 e 4 c) (move 2 e 5 b) (move 1 e 1 d) (move 1 e 1 c) (move 1 e 1 b)",
         move="(move 1 e 1 b)", then="(hand black pawn 1) (cell 1 b black_rook) (control white) (turns 1)",
         gone="(cell 1 b white_pawn)"),
    Case("minishogi", "may put what it has taken back on the board as its own", "(cell 5 e black_king)"
         " (cell 1 a white_king) (hand black gold 2) (hand white rook 1) (control black) (turns 9)",
         legal="(drop gold 3 c) (drop gold 2 b)", illegal="(drop gold 1 a) (drop rook 3 c) (drop pawn 3 c)",
         move="(drop gold 3 c)", then="(cell 3 c black_gold) (hand black gold 1) (control white)",
         gone="(hand black gold 2)"),
    Case("minishogi", "Who cannot move without leaving its king in check loses", "(cell 1 a white_king)"
         " (cell 1 b black_gold) (cell 1 c black_king) (control white) (turns 9)", is_end=True, goals=(100, 0)),
    Case("minishogi", "moves to the last rank, or from it, may promote", "(cell 5 e black_king) (cell 3 b black_silver)"
         " (cell 1 a white_king) (cell 5 a black_rook) (control black) (turns 9)",
         legal="(move 3 b 3 a) (promote 3 b 3 a) (move 3 b 4 a) (promote 5 a 5 b) (move 5 a 5 b)",
         illegal="(promote 3 b 2 c)", move="(promote 3 b 3 a)", then="(cell 3 a black_narisilver)"),
    Case("minishogi", "a pawn must on the last rank", "(cell 5 e black_king) (cell 3 b black_pawn)"
         " (cell 1 e white_king) (control black) (turns 9)", legal="(promote 3 b 3 a)", illegal="(move 3 b 3 a)",
         move="(promote 3 b 3 a)", then="(cell 3 a black_tokin)"),
    Case("minishogi", "A promoted silver and a promoted pawn move as a gold", "(cell 5 e black_king)"
         " (cell 3 c black_tokin) (cell 1 a white_king) (control black) (turns 9)",
         legal="(move 3 c 3 d) (move 3 c 4 b) (move 3 c 2 b) (move 3 c 2 c)",
         illegal="(move 3 c 4 d) (move 3 c 2 d) (promote 3 c 3 b)"),
    Case("minishogi", "the horse, moves as a king as well, and so does a promoted rook, the dragon",
         "(cell 5 e white_king) (cell 3 c white_horse) (cell 1 e white_dragon) (cell 1 a black_king) (control white)"
         " (turns 9)", legal="(move 3 c 3 d) (move 3 c 5 a) (move 1 e 2 d) (move 1 e 1 b)",
         illegal="(move 3 c 3 e) (move 1 e 3 c) (promote 1 e 1 d)"),
    Case("minishogi", "A pawn is not dropped on the last rank, nor on a file with an unpromoted pawn of its role",
         "(cell 5 e black_king) (cell 4 d black_pawn) (cell 3 d black_tokin) (cell 1 d white_king) (hand black pawn 1)"
         " (control black) (turns 9)", legal="(drop pawn 3 b) (drop pawn 2 c) (drop pawn 1 e)",
         illegal="(drop pawn 4 b) (drop pawn 3 a) (drop pawn 2 a)"),
    Case("minishogi", "nor so that it mates", "(cell 5 e black_king) (cell 1 a white_king) (cell 2 c black_gold)"
         " (cell 2 a white_rook) (cell 3 b black_gold) (cell 5 a black_rook) (cell 4 b black_silver)"
         " (hand black pawn 1) (control black) (turns 9)", illegal="(drop pawn 1 b)"),
    Case("minishogi", "nor so that it mates", "(cell 5 e black_king) (cell 1 a white_king) (cell 2 c black_gold)"
         " (cell 2 a white_gold) (cell 3 b black_gold) (cell 4 b black_silver) (hand black pawn 1) (control black)"
         " (turns 9)", legal="(drop pawn 1 b)"),
    Case("minishogi", "nor so that it mates", "(cell 5 e black_king) (cell 1 a white_king) (cell 2 c black_gold)"
         " (cell 2 a white_gold) (cell 3 b black_gold) (cell 4 a black_rook) (hand black pawn 1) (control black)"
         " (turns 9)", illegal="(drop pawn 1 b)"),
    Case("minishogi", "What is taken loses its promotion", "(cell 5 e black_king) (cell 3 c white_dragon)"
         " (cell 3 d black_gold) (cell 1 a white_king) (hand black rook 1) (control black) (turns 9)",
         move="(move 3 d 3 c)", then="(hand black rook 2)", gone="(hand black rook 1) (hand black dragon 1)"),
    Case("minishogi", "After 200 steps the match is a draw", "(cell 5 e black_king) (cell 3 c white_dragon)"
         " (cell 1 a white_king) (control black) (turns 199)", move="(move 5 e 5 d)", is_end=True, goals=(50, 50)),
)  # fmt: skip
