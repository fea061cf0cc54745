"""Small games, one for each thing that environments have to get right."""

SECRET = """
(role guesser) (role random) (init (stage choose))
(<= (legal random (hide ?x)) (coin ?x) (true (stage choose)))
(<= (legal random wait) (not (true (stage choose))))
(<= (legal guesser wait) (true (stage choose)))
(<= (legal guesser (say ?x)) (coin ?x) (true (stage guess)))
(<= (legal guesser wait) (true (stage shown)))
(coin heads) (coin tails)
(<= (next (coin_is ?x)) (does random (hide ?x)))
(<= (next (coin_is ?x)) (true (coin_is ?x)))
(<= (next (stage guess)) (true (stage choose)))
(<= (next (stage shown)) (true (stage guess)))
(<= (next (stage done)) (true (stage shown)))
(<= (next (said ?x)) (does guesser (say ?x)))
(<= (next (said ?x)) (true (said ?x)))
(<= (sees guesser hidden) (true (stage choose)))
(<= (sees guesser (it_was ?x)) (true (stage shown)) (true (coin_is ?x)))
(<= (sees random ?x) (does guesser ?x))
(<= terminal (true (stage done)))
(<= right (true (coin_is ?x)) (true (said ?x)))
(<= (goal guesser 100) right) (<= (goal guesser 0) (not right))
(goal random 0)
"""

DICE = """
(role a) (role random) (init (at 0)) (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4)
(face 1) (face 2) (face 3)
(<= (legal random (roll ?f)) (face ?f)) (legal a on) (legal a off)
(<= (next (at ?n)) (true (at ?m)) (succ ?m ?n)) (<= (next (rolled ?f)) (does random (roll ?f)))
(<= (next (on ?f)) (does a on) (does random (roll ?f)))
(<= terminal (true (at 4)))
(<= (goal a 100) (true (on 3))) (<= (goal a 30) (not (true (on 3)))) (goal random 50)
"""

STUCK = """
(role a) (init (at 0)) (succ 0 1) (succ 1 2)
(<= (legal a (go ?n)) (true (at ?m)) (succ ?m ?n)) (<= (legal a stay) (true (at 1)))
(<= (next (at ?n)) (does a (go ?n))) (<= (next (at 3)) (does a stay))
(<= terminal (true (at 3)))
(<= (goal a 80) (true (at 3))) (<= (goal a 10) (true (at 2))) (<= (goal a 20) (true (at 2)))
"""
