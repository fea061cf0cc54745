"""Claims about games in which several roles choose at once."""

from functools import partial

from tests.games.claims import Claim

DILEMMA = partial(Claim, "prisonersdilemma")
PROGRAMS = partial(Claim, "meetstrategies")
BLOTTO = partial(Claim, "blotto")
RACE = partial(Claim, "racetrack")
TRON = partial(Claim, "tron")

BOTH = "row: cooperate, column: cooperate"
BEST = "defect " * 10 + "cooperate cooperate cooperate cooperate defect " * 2 + "defect " * 5

POCKET = ["right", "up", "up", "left", "left", "down", "right"]  # where red is enclosed by its own wall
MIRRORED = ["left", "down", "down", "right", "right", "up", "left"]
DOWN = ["down"] * 5 + ["left"] * 2
BOTH_ENCLOSED = ";".join(f"red: (go {one}), blue: (go {two})" for one, two in zip(POCKET, MIRRORED, strict=True))
ENCLOSED = ";".join(
    f"red: (go {one}), blue: (go {two})" for one, two in zip(POCKET, ["down"] * 5 + ["left"] * 2, strict=True)
)
MEETING = ";".join(f"red: (go right), blue: (go {way})" for way in ("down", "left", "left", "left"))

CLAIMS = (
    DILEMMA("3 points where both cooperate", BOTH, ("(points row 3)", "(points column 3)")),
    DILEMMA("1 where both defect", "row: defect, column: defect", ("(points row 1)", "(points column 1)")),
    DILEMMA("who defects alone has 5 and the other one 0", "row: defect, column: cooperate",
            ("(points row 5)", "(points column 0)")),
    DILEMMA("cooperate or defect ten times", ";".join([BOTH] * 9), ("open",)),
    DILEMMA("The goal value is twice the sum of the points", ";".join([BOTH] * 10), ("end row 60 column 60",)),
    PROGRAMS("The goal value is the share of the most points that can be had, which are 81", BEST, ("end player 100",)),
    PROGRAMS("one that always cooperates", "defect defect", ("(points 10)", "(last_of_program cooperate)")),
    PROGRAMS("one that always defects", "cooperate " * 6, ("(points 15)", "(last_of_program defect)")),
    PROGRAMS("Tit for tat and the one that never forgives begin by cooperating", "defect " * 11, ("(points 35)",)),
    PROGRAMS("tit for tat", "defect " * 10 + "defect cooperate", ("(points 35)", "(last_of_program defect)")),
    PROGRAMS("tit for tat", "defect " * 10 + "defect cooperate cooperate", ("(last_of_program cooperate)",)),
    PROGRAMS("one that never forgives", "defect " * 15 + "defect cooperate cooperate", ("(last_of_program defect)",)),
    PROGRAMS("the one that alternates cooperates first", "defect " * 21, ("(last_of_program cooperate)",)),
    BLOTTO("both roles send ten battalions to three fields at once", "", ("blotto has 66", "boba has 66")),
    BLOTTO("more battalions win a field, which is a point", "blotto: (send 4 3 3), boba: (send 3 7 0)",
           ("(points blotto 2)", "(points boba 1)")),
    BLOTTO("as many win it for nobody", "blotto: (send 4 3 3), boba: (send 4 3 3)", ("(points blotto 0)",)),
    BLOTTO("Who has more points after three battles wins",
           ";".join(["blotto: (send 4 3 3), boba: (send 3 7 0)"] * 3), ("end blotto 100 boba 0",)),
    RACE("a car changes its speed by at most one cell in each direction", "", ("red has 9", "blue has 9")),
    RACE("moves by it",
         "red: (accelerate 0 -1), blue: (accelerate 0 -1); red: (accelerate 0 -1), blue: (accelerate 0 1)",
         ("(car 1 4 red)", "(speed red 0 -2)", "(car 2 6 blue)", "(speed blue 0 0)")),
    RACE("at most two cells in all", "red: (accelerate 0 -1), blue: (accelerate 0 0);"
         "red: (accelerate 0 -1), blue: (accelerate 0 0)", ("red cannot (accelerate 0 -1)", "red has 6")),
    RACE("who would leave the track stays and has no speed", "red: (accelerate -1 0), blue: (accelerate 0 0)",
         ("(car 1 7 red)", "(speed red 0 0)")),
    RACE("none within 30 steps: a draw", ";".join(["red: (accelerate 0 0), blue: (accelerate 0 0)"] * 30),
         ("end red 50 blue 50",)),
    TRON("both at once, one cell in each step", "red: (go up), blue: (go left)",
         ("(cell 2 6 red)", "(cell 8 6 blue)", "no (cell 2 5 red)")),
    TRON("leave a wall behind them", "red: (go up), blue: (go left)",
         ("(cell 2 5 red_wall)", "(cell 9 6 blue_wall)", "red cannot (go down)", "red has 3")),
    TRON("the edge of the board is closed", "red: (go left), blue: (go up)", ("red cannot (go left)", "red has 2")),
    TRON("crash is the only move of who has none", ENCLOSED,
         ("red can crash", "red has 1", "blue cannot crash", "open")),
    TRON("Who has no free cell next to it crashes and loses", ENCLOSED + ";red: crash, blue: (go left)",
         ("end red 0 blue 100", "(crashed red)")),
    TRON("Two cycles that come to the same cell in one step crash both, which is a draw", MEETING,
         ("end red 50 blue 50",)),
    TRON("and so is a step in which neither has a free cell", BOTH_ENCLOSED + ";red: crash, blue: crash",
         ("end red 50 blue 50",)),
    TRON("Nobody can drive into a wall while another way is free", "", ("red has 4", "red cannot crash")),
)  # fmt: skip
