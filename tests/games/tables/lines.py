"""Claims about games of lines."""

from functools import partial

from tests.games.claims import Claim

QUBIC = partial(Claim, "qubic")
CUBE = partial(Claim, "cube3")
SIM = partial(Claim, "sim")
QUARTO = partial(Claim, "quarto")
PENTAGO = partial(Claim, "pentago")
ULTIMATE = partial(Claim, "ultimatetictactoe")

TALL = "light_tall_round_solid", "light_tall_round_hollow", "light_tall_square_solid", "light_tall_square_hollow"
GIVEN = "".join(f"(give {piece}) (place {x} 1) " for x, piece in enumerate(TALL, 1))
FIVE = "".join(f"(place {x} 1) (turn upper_left clockwise) (place {x} 6) (turn upper_left anticlockwise) "
               for x in range(1, 5))  # fmt: skip

CLAIMS = (
    QUBIC("a cube of 4 by 4 by 4", "", ("x has 64", "o has 1")),
    QUBIC("the first with four in a line", "(mark 1 1 1) (mark 1 2 1) (mark 2 2 2) (mark 1 3 1) (mark 3 3 3)"
          "(mark 1 4 1) (mark 4 4 4)", ("end x 100 o 0",)),
    QUBIC("along a row, column, pillar or any diagonal", "(mark 2 1 1) (mark 1 2 1) (mark 2 1 2) (mark 1 3 1)"
          "(mark 2 1 3) (mark 1 4 1) (mark 2 1 4)", ("end x 100 o 0",)),
    CUBE("the first with three in a line", "(mark 1 1 1) (mark 1 2 1) (mark 2 2 2) (mark 1 3 1) (mark 3 3 3)",
         ("end x 100 o 0",)),
    CUBE("Two roles mark cells", "(mark 2 2 2)", ("(cell 2 2 2 x)", "o cannot (mark 2 2 2)", "o has 26")),
    SIM("Two roles draw edges between six points", "", ("red has 15", "blue has 1")),
    SIM("who completes a triangle of the own colour between three of the points loses",
        "(join 1 2) (join 4 5) (join 1 3) (join 4 6) (join 2 3)", ("end red 0 blue 100",)),
    SIM("a triangle of the own colour", "(join 1 2) (join 1 3) (join 2 3)", ("open",)),
    QUARTO("A role gives the other one a piece", f"(give {TALL[0]})",
           ("(control second)", "second has 16", "first has 1")),
    QUARTO("which places it on a board of 4 by 4 and gives one in turn", f"(give {TALL[0]}) (place 2 3)",
           (f"(cell 2 3 {TALL[0]})", "(control second)", "second has 15", f"second cannot (give {TALL[0]})")),
    QUARTO("who completes a line of four with a property in common wins", GIVEN, ("end first 100 second 0",)),
    QUARTO("The first role begins by giving a piece.", "", ("first has 16",)),
    PENTAGO("A role places a marble of its colour, then turns a quarter by 90 degrees", "(place 1 1)",
            ("white has 8", "black has 1")),
    PENTAGO("turns a quarter by 90 degrees", "(place 1 1) (turn lower_left clockwise)",
            ("(cell 1 3 white)", "no (cell 1 1 white)", "(control black)")),
    PENTAGO("turns a quarter by 90 degrees", "(place 1 1) (turn lower_left anticlockwise)", ("(cell 3 1 white)",)),
    PENTAGO("Five in a line that are made by placing a marble win at once, without a turn.",
            f"{FIVE} (place 5 1)", ("end white 100 black 0",)),
    ULTIMATE("Nine boards of tic-tac-toe make a large one", "", ("x has 81",)),
    ULTIMATE("says on which small board the other one plays next", "(mark 2 2 1 3)",
             ("o has 9", "o can (mark 1 3 2 2)", "o cannot (mark 2 2 2 2)")),
    ULTIMATE("who is sent there may choose any board that is not",
             "(mark 1 1 1 2) (mark 1 2 1 1) (mark 1 1 2 2) (mark 2 2 1 1) (mark 1 1 3 2) (mark 3 2 1 1)",
             ("x cannot (mark 1 1 1 1)", "x can (mark 2 2 2 2)", "x can (mark 3 3 3 3)")),
)  # fmt: skip
