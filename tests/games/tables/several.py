"""Claims about games of three roles and more."""

from functools import partial

from tests.games.claims import Claim

FOUR = partial(Claim, "connectfour3")
THREE = partial(Claim, "tictactoe3")
AUCTION = partial(Claim, "auction3")
DOLLAR = partial(Claim, "dividethedollar")
PURSUIT = partial(Claim, "pursuit")
BLOKUS = partial(Claim, "smallblokus")

VOTES = "ann: (propose 8 1 1); bob: {}, cid: {}"

CLAIMS = (
    FOUR("8 columns of 6 cells", "(drop 1) " * 6, ("(cell 1 6 green)", "red cannot (drop 1)", "red has 7")),
    FOUR("in turn", "(drop 1) (drop 1)", ("(control green)", "red has 1", "green has 8")),
    FOUR("the first line of four discs of one colour", "(drop 1) (drop 2) (drop 8) " * 3 + "(drop 1)",
         ("end red 100 yellow 0 green 0",)),
    THREE("mark cells of a board of 5 by 5 in turn", "(mark 3 3)", ("(cell 3 3 x)", "o has 24", "v has 1")),
    THREE("the first with three in a row, column or diagonal wins",
          "(mark 1 1) (mark 5 1) (mark 5 5) (mark 2 2) (mark 4 1) (mark 4 5) (mark 3 3)", ("end x 100 o 0 v 0",)),
    AUCTION("Three roles with eight coins each", "", ("(purse ann 8)", "ann has 9", "cid has 9")),
    AUCTION("The highest bid pays and has the prize", "ann: (bid 3), bob: (bid 2), cid: (bid 0)",
            ("(purse ann 5)", "(points ann 1)", "(purse bob 8)", "(offered 2)")),
    AUCTION("nobody has it and nobody pays", "ann: (bid 3), bob: (bid 3), cid: (bid 0)",
            ("(purse ann 8)", "(points ann 0)", "(points bob 0)", "(points cid 0)")),
    AUCTION("share the first place each of them has 50", ";".join(["ann: (bid 0), bob: (bid 0), cid: (bid 0)"] * 5),
            ("end ann 50 bob 50 cid 50",)),
    AUCTION("Most points win", "ann: (bid 1), bob: (bid 0), cid: (bid 0);"
            + ";".join(["ann: (bid 0), bob: (bid 0), cid: (bid 0)"] * 4), ("end ann 100 bob 0 cid 0",)),
    DOLLAR("propose in turn how to divide ten dimes", "", ("ann has 66", "bob has 1")),
    DOLLAR("one of them is enough for a majority with the proposer", VOTES.format("reject", "accept"),
           ("end ann 80 bob 10 cid 10",)),
    DOLLAR("Three roles propose in turn", VOTES.format("reject", "reject"), ("(proposer bob)", "bob has 66", "open")),
    DOLLAR("After six proposals that were rejected nobody has anything",
           ";".join(f"{one}: (propose 8 1 1); {two}: reject, {three}: reject" for one, two, three in
                    [("ann", "bob", "cid"), ("bob", "ann", "cid"), ("cid", "ann", "bob")] * 2),
           ("end ann 0 bob 0 cid 0",)),
    PURSUIT("All three go along an edge or stay, at once", "", ("cop1 has 3", "cop2 has 3", "robber has 4")),
    PURSUIT("the robber is caught on the node of a cop",
            "cop1: (go e), cop2: (go h), robber: (go k); cop1: (go i), cop2: (go l), robber: (go l)",
            ("end cop1 100 cop2 100 robber 0",)),
    PURSUIT("or when it meets one on an edge",
            "cop1: (go e), cop2: (go h), robber: (go k); cop1: (go i), cop2: (go l), robber: (go k);"
            "cop1: (go i), cop2: (go k), robber: (go l)", ("end cop1 100 robber 0",)),
    PURSUIT("Who is not caught within 15 steps gets away",
            ";".join(["cop1: (go a), cop2: (go d), robber: (go k)"] * 15), ("end cop1 0 cop2 0 robber 100",)),
    BLOKUS("The first piece covers the own corner of the board", "",
           ("blue can (place one 1 8)", "blue cannot (place one 1 7)", "blue can (place two_upright 1 7)")),
    BLOKUS("each later one touches an own piece at a corner, and none along a side",
           "(place one 1 8) (place one 8 8) (place one 8 1) (place one 1 1)",
           ("blue can (place two_level 2 7)", "blue cannot (place two_level 2 8)", "blue cannot (place one 3 7)")),
    BLOKUS("place five pieces", "(place one 1 8)", ("no (has blue one)", "(has blue square)", "(covered blue 1)")),
)  # fmt: skip
