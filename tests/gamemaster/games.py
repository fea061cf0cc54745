"""Small rulesheets, each for one thing that a match can be."""

from itertools import pairwise

import ggp
from ggp.game import Game

GUESSING = """
(role left) (role right)
(init (round 0))
(succ 0 1) (succ 1 2)
(<= (legal ?r (show ?n)) (role ?r) (number ?n))
(number 1) (number 2) (number 3)
(<= (next (round ?m)) (true (round ?n)) (succ ?n ?m))
(<= (next (same)) (does left ?m) (does right ?m))
(<= (next (same)) (true (same)))
(<= terminal (true (round 2)))
(<= (goal ?r 100) (role ?r) (true (same)))
(<= (goal ?r 0) (role ?r) (not (true (same))))
"""  # both roles choose at once, twice

DICE = """
(role gambler) (role random)
(side 1) (side 2) (side 3) (side 4) (side 5) (side 6)
(init start)
(<= (legal random (roll ?n)) (side ?n))
(<= (legal gambler (bet ?n)) (side ?n))
(<= (next (rolled ?n)) (does random (roll ?n)))
(<= (next (placed ?n)) (does gambler (bet ?n)))
(<= terminal (true (rolled ?n)))
(<= (goal ?r 100) (role ?r) (true (rolled ?n)) (true (placed ?n)))
(<= (goal ?r 0) (role ?r) (not (won)))
(<= (won) (true (rolled ?n)) (true (placed ?n)))
"""  # a role is left to chance

SECRET = """
(role asker) (role keeper)
(init (turn 0))
(succ 0 1) (succ 1 2)
(<= (legal keeper (hide ?n)) (digit ?n))
(<= (legal asker (ask ?n)) (digit ?n))
(digit 1) (digit 2)
(<= (next (turn ?m)) (true (turn ?n)) (succ ?n ?m))
(<= (sees asker warm) (does asker (ask ?n)) (does keeper (hide ?n)))
(<= (sees keeper (asked ?n)) (does asker (ask ?n)))
(<= terminal (true (turn 2)))
(<= (goal ?r 50) (role ?r))
"""  # GDL-II: the roles perceive different things

COUNTDOWN = """
(role lonely)
(init (left 3))
(pred 3 2) (pred 2 1) (pred 1 0)
(legal lonely wait) (legal lonely tick)
(<= (next (left ?m)) (true (left ?n)) (pred ?n ?m) (does lonely tick))
(<= (next (left ?n)) (true (left ?n)) (does lonely wait))
(<= terminal (true (left 0)))
(<= (goal lonely 100) (true (left 0)))
(<= (goal lonely 40) (not (true (left 0))))
"""  # one role, which can also wait forever

STUCK = """
(role left) (role right)
(init (round 0))
(succ 0 1) (succ 1 2)
(<= (legal left go) (true (round ?n)))
(<= (legal right go) (true (round 0)))
(<= (next (round ?m)) (true (round ?n)) (succ ?n ?m))
(<= terminal (true (round 2)))
(<= (goal ?r 50) (role ?r))
"""  # right has no move in step 1

ENDLESS = """
(role lonely)
(init (count zero))
(<= (legal lonely go) (true (count ?n)))
(<= (number ?n) (true (count ?n)))
(<= (number (s ?n)) (number ?n) (does lonely go))
(<= (next (count ?n)) (number ?n))
(<= terminal (true never))
(<= (goal lonely 50) (true (count zero)))
"""  # the state after step 0 has no end

OVER = """
(role lonely)
(init done)
(legal lonely go)
(<= (next done) (true done))
(<= terminal (true done))
(<= (goal lonely 70) (true done))
(<= (goal lonely 80) (true done))
"""  # terminal from the beginning, with two goal values


_MANY = [f"?x{number}" for number in range(14)]
_JOIN = " ".join(
    [*(f"(n {name})" for name in _MANY), "(not (ok ?x0 ?x13))"]
    + [f"(distinct {one} {other})" for one, other in pairwise(_MANY)]
)
_DIGITS = " ".join(f"(n {digit})" for digit in range(10)) + " (<= (ok ?x ?y) (n ?x) (n ?y))"
UNANSWERED = {
    "at the beginning": f"(role a) (init s) (legal a go) (next s) (goal a 0) {_DIGITS} (<= terminal {_JOIN})",
    "after a step": (
        f"(role a) (init s) (legal a go) (<= (next t) (true s)) (goal a 0) {_DIGITS}"
        f" (<= terminal (true t) {_JOIN}) (<= (next t) (true t))"
    ),
    "legal moves": (
        f"(role a) (init s) (<= (legal a go) (true s)) (<= (legal a go) (true t) {_JOIN}) (<= (next t) (true s))"
        f" (goal a 0) {_DIGITS} (<= terminal (true u))"
    ),
}  # a join without answers, at different moments
HUGE = (
    f"(role a) (init s) (<= (next s) (true s)) (goal a 0) {_DIGITS} (<= terminal (true t))"
    f" (<= (legal a (m {' '.join(_MANY[:8])})) {' '.join(f'(n {name})' for name in _MANY[:8])})"
)  # 100 million moves


def game(text: str) -> Game:
    """By the interpreter where terms nest without end, which takes the grounder 12 s to find out."""
    return ggp.load_text(text, "small", "interpreter" if text is ENDLESS else None)
