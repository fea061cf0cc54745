"""Claims about games of counting, sowing and blocking."""

from functools import partial

from tests.games.claims import Claim

NIM = partial(Claim, "nim")
CHOMP = partial(Claim, "chomp")
DOMINEERING = partial(Claim, "domineering")
BOXES = partial(Claim, "boxes2")
KALAH = partial(Claim, "kalah")
OWARE = partial(Claim, "oware")

RING = "(draw 1 1 2 1) (draw 2 1 3 1) (draw 1 1 1 2)"  # three sides of the lower left box but one, and another line

CLAIMS = (
    NIM("heaps of 1, 3, 5 and 7", "", ("(heap 1 1)", "(heap 4 7)", "first has 16")),
    NIM("any number of objects from one of the heaps", "(reduce 4 2)", ("(heap 4 2)", "(heap 3 5)", "second has 11")),
    NIM("whoever takes the last object wins", "(reduce 4 0) (reduce 3 0) (reduce 2 0) (reduce 1 0)",
        ("end first 0 second 100",)),
    NIM("Two roles take turns", "(reduce 4 0)", ("(control second)", "first has 1", "first can noop")),
    CHOMP("a bite eats a piece and all that are neither left of it nor below it", "(bite 3 2)",
          ("no (piece 3 2)", "no (piece 7 4)", "(piece 2 4)", "(piece 7 1)", "second has 13")),
    CHOMP("who eats it loses", "(bite 1 2) (bite 2 1) (bite 1 1)", ("end first 0 second 100",)),
    CHOMP("Undecided states are worth 50 to both roles", "(bite 2 1)", ("open",)),
    DOMINEERING("vertical upright ones", "(place 1 1)", ("(cell 1 1 lower)", "(cell 1 2 upper)")),
    DOMINEERING("horizontal lying ones", "(place 1 1) (place 2 1)", ("(cell 2 1 left)", "(cell 3 1 right)")),
    DOMINEERING("Vertical begins.", "", ("vertical has 56", "horizontal has 1")),
    DOMINEERING("(place X Y) names the lower or left cell", "(place 1 1)",
                ("horizontal has 54", "horizontal cannot (place 1 1)")),
    BOXES("Two roles draw lines between neighbouring dots of a 3 by 3 grid", "(draw 1 1 2 1)",
          ("(line 1 1 2 1)", "second has 11", "second cannot (draw 1 1 2 1)")),
    BOXES("Who completes a box owns it and moves again",
          "(draw 1 1 2 1) (draw 1 2 2 2) (draw 1 1 1 2) (draw 2 1 2 2)",
          ("(owner 1 1 second)", "(boxes second 1)", "(boxes first 0)", "(control second)")),
    BOXES("Who completes a box owns it", "(draw 1 1 2 1) (draw 1 2 2 2) (draw 1 1 1 2) (draw 2 1 3 1) (draw 2 2 3 2)"
          "(draw 3 1 3 2) (draw 2 1 2 2)", ("(owner 1 1 first)", "(owner 2 1 first)", "(boxes first 2)")),
    KALAH("six pits with four seeds in each", "",
          ("(seeds s1 4)", "(seeds n6 4)", "(seeds south_store 0)", "south has 6")),
    KALAH("one into each place that follows, the own store included", "(sow s4)",
          ("(seeds s4 0)", "(seeds s5 5)", "(seeds s6 5)", "(seeds south_store 1)", "(seeds n1 5)", "(seeds n2 4)")),
    KALAH("a last seed in the own store gives another move", "(sow s3)", ("(control south)", "(seeds south_store 1)")),
    KALAH("one in an empty own pit takes the seeds opposite", "(sow s6) (sow n6) (sow s1)",
          ("(seeds south_store 7)", "(seeds n1 0)", "(seeds s6 0)", "(control north)")),
    OWARE("Each role has six pits with four seeds in each", "", ("(seeds s1 4)", "(seeds n6 4)", "south has 6")),
    OWARE("one into each pit that follows but the first one", "(sow s5)",
          ("(seeds s5 0)", "(seeds s6 5)", "(seeds n1 5)", "(seeds n3 5)", "(seeds n4 4)", "(store south 0)")),
)  # fmt: skip
