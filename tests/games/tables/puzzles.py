"""Claims about puzzles."""

from functools import partial

from tests.games.claims import Claim

HANOI = partial(Claim, "hanoi")
EIGHT = partial(Claim, "eightpuzzle")
LIGHTS = partial(Claim, "lightsout")
QUEENS = partial(Claim, "queens")
PEGS = partial(Claim, "pegsolitaire")
SOKOBAN = partial(Claim, "sokoban1")
RUSH = partial(Claim, "rushhour")
NONOGRAM = partial(Claim, "nonogram")
CUBE = partial(Claim, "rubik2")

BLACK = (
    "(blacken 4 1) (blacken 1 2) (blacken 2 2) (blacken 3 2) (blacken 4 2) (blacken 5 2) (blacken 1 3) (blacken 2 3)"
    "(blacken 3 3) (blacken 4 3) (blacken 5 3) (blacken 2 4) (blacken 3 4) (blacken 4 4) (blacken 3 5)"
)  # all cells of the picture but one

CLAIMS = (
    HANOI("A tower of five disks stands on peg a", "", ("(disk a 1 5)", "(disk a 5 1)", "solver has 2")),
    HANOI("one disk at a time", "(move a b)", ("(disk b 1 1)", "(disk a 4 2)", "no (disk a 5 1)")),
    HANOI("none onto a smaller one", "(move a b)", ("solver cannot (move a b)", "solver can (move a c)")),
    HANOI("within 62 steps", "(move a b) (move b a) " * 30 + "(move a b)", ("open",)),
    HANOI("within 62 steps", "(move a b) (move b a) " * 31, ("end solver 0",)),
    EIGHT("slide them into the empty place", "(slide 1 3)", ("(cell 1 3 blank)", "(cell 2 3 3)", "solver has 2")),
    EIGHT("(slide COLUMN ROW) slides a tile", "", ("solver can (slide 2 2)", "solver cannot (slide 1 1)")),
    EIGHT("within 60 steps", "(slide 1 3) (slide 2 3) " * 30, ("end solver 0",)),
    Claim("fifteenpuzzle", "Fifteen tiles on a board of 4 by 4", "",
          ("(cell 3 4 15)", "(cell 4 4 blank)", "solver has 2")),
    LIGHTS("All 25 lights of a board of 5 by 5 are on", "", ("(lit 1 1)", "(lit 5 5)", "solver has 25")),
    LIGHTS("a button switches its own light and those next to it in row and column", "(press 2 1)",
           ("no (lit 1 1)", "no (lit 2 1)", "no (lit 3 1)", "no (lit 2 2)", "(lit 1 2)", "(lit 4 1)")),
    LIGHTS("a button switches its own light", "(press 2 1) (press 2 2)", ("(lit 2 1)", "(lit 2 2)")),
    LIGHTS("within 25 presses", "(press 1 1) " * 25, ("end solver 0",)),
    QUEENS("one in each row from the lowest on", "(place 4)", ("(queen 4 1)", "(queens 1)")),
    QUEENS("none attacks another in row, column or diagonal", "(place 4)",
           ("solver has 5", "solver cannot (place 3)", "solver cannot (place 4)", "solver cannot (place 5)")),
    QUEENS("the goal value grows with the queens placed", "(place 1) (place 3) (place 5) (place 2) (place 4)",
           ("end solver 62",)),
    QUEENS("the match ends as soon as the next row has no safe cell",
           "(place 1) (place 3) (place 5) (place 2) (place 4)", ("end solver 62",)),
    QUEENS("Place eight queens", "(place 1) (place 5) (place 8) (place 6) (place 3) (place 7) (place 2) (place 4)",
           ("end solver 100",)),
    Claim("knightstour", "A knight starts in the lower left corner", "", ("(knight 1 1)", "solver has 2")),
    Claim("knightstour", "never to a cell where it has been", "(leap 2 3)",
          ("solver cannot (leap 1 1)", "solver has 5")),
    Claim("knightstour5", "leaps as in chess", "(leap 2 3) (leap 4 4)",
          ("(knight 4 4)", "(visited 2 3)", "solver can (leap 5 2)", "solver has 3")),
    Claim("pancakes", "Seven pancakes of different sizes", "", ("(pancake 1 1)", "(pancake 7 4)", "solver has 6")),
    Claim("pancakes", "(flip NUMBER) turns over so many pancakes from the top", "(flip 3)",
          ("(pancake 1 3)", "(pancake 2 5)", "(pancake 3 1)", "(pancake 4 7)")),
    Claim("pancakes", "within 16 flips", "(flip 2) (flip 2) " * 8, ("end solver 0",)),
    SOKOBAN("A crate is pushed", "(go left)",
            ("(person 3 3)", "(crate 2 3)", "no (crate 3 3)", "solver cannot (go left)")),
    SOKOBAN("never pulled", "(go left) (go right)", ("(crate 2 3)", "(person 4 3)")),
    SOKOBAN("(go DIRECTION) goes up, down, left or right", "", ("solver has 4",)),
    SOKOBAN("within 40 steps", "(go up) (go down) " * 20, ("end solver 0",)),
    Claim("sokoban2", "only one at a time", "(go left) (go down) (go down) (go left)", ("solver cannot (go up)",)),
    Claim("sokoban3", "three crates in two rooms", "", ("(person 2 4)", "(crate 6 3)",)),
    Claim("maze", "Find the way from the upper left", "", ("(person 1 1)", "solver can (go right)")),
    Claim("maze", "where no wall is", "", ("solver cannot (go left)", "solver cannot (go up)")),
    Claim("maze", "within 64 steps", "(go right) (go left) " * 32, ("end solver 0",)),
    RUSH("go forwards and backwards only", "", ("solver cannot (drive x up)", "solver cannot (drive x down)")),
    PEGS("32 pegs stand in the holes of the English board of 33, whose middle is free", "",
         ("no (peg 4 4)", "(peg 3 1)", "solver has 4")),
    PEGS("a peg jumps over a neighbour into the free hole behind it, and the neighbour is taken", "(jump 2 4 4 4)",
         ("(peg 4 4)", "no (peg 2 4)", "no (peg 3 4)", "(jumps 1)")),
    CUBE("the right, upper or front face", "", ("solver has 9", "solver cannot (turn left clockwise)")),
    CUBE("a quarter clockwise", "(turn up clockwise)",
         ("(sticker 4 1 blue)", "(sticker 3 1 white)", "(sticker 1 3 green)", "(sticker 2 3 green)")),
    CUBE("a quarter counterclockwise", "(turn right clockwise) (turn right counterclockwise)",
         ("(sticker 3 1 blue)", "(sticker 4 2 red)", "(sticker 6 4 blue)", "(step 2)")),
    CUBE("or half", "(turn right half)", ("(sticker 4 2 white)", "(sticker 4 6 red)", "(sticker 4 3 red)")),
    CUBE("Bring a cube of eight corners in order", "(turn right clockwise) (turn front counterclockwise)"
         " (turn right half) (turn up half) (turn front clockwise) (turn right counterclockwise) (turn up half)"
         " (turn front clockwise) (turn up counterclockwise) (turn right counterclockwise)", ("open",)),
    CUBE("11 turns are needed", "(turn right clockwise) (turn front counterclockwise)"
         " (turn right half) (turn up half) (turn front clockwise) (turn right counterclockwise) (turn up half)"
         " (turn front clockwise) (turn up counterclockwise) (turn right counterclockwise) (turn up counterclockwise)",
         ("end solver 100", "(sticker 3 1 white)", "(sticker 4 2 white)", "(sticker 8 4 blue)")),
    CUBE("within 20 turns", "(turn up half) " * 19, ("open",)),
    CUBE("within 20 turns", "(turn up half) " * 20, ("end solver 0",)),
    CUBE("The corner at the left, below and behind never moves", "(turn right half) (turn up half) (turn front half)",
         ("(sticker 1 4 orange)", "(sticker 8 4 blue)", "(sticker 3 6 yellow)")),
    Claim("sudoku4", "a number that is already in the row, column or box cannot be put there", "",
          ("solver cannot (fill 2 1 1)", "solver cannot (fill 1 2 1)", "solver cannot (fill 2 2 1)",
           "solver can (fill 2 1 2)")),
    Claim("sudoku4", "(fill COLUMN ROW NUMBER) fills a cell", "(fill 2 1 2)",
          ("(cell 2 1 2)", "solver cannot (fill 2 1 3)")),
    Claim("sudoku", "Fill a board of 9 by 9", "", ("(cell 1 1 5)", "(cell 9 9 9)", "solver has 153")),
    NONOGRAM("Blacken 16 cells of a board of 5 by 5", "", ("solver has 25",)),
    NONOGRAM("the match ends with the last of them", f"{BLACK} (blacken 2 1)", ("end solver 100",)),
    NONOGRAM("the groups of black cells in each row and column have the lengths that its clue says",
             f"{BLACK} (blacken 1 1)", ("end solver 0",)),
    NONOGRAM("A cell that is black stays black", "(blacken 1 1)", ("solver cannot (blacken 1 1)",)),
)  # fmt: skip
