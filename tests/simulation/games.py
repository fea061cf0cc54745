"""Small games, one for each thing that playouts have to get right."""

TURNS = """
(role a) (role b) (init (count 0)) (init (turn a)) (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6)
(<= (legal ?r (add 1)) (true (turn ?r))) (<= (legal ?r (add 2)) (true (turn ?r)))
(<= (legal a wait) (true (turn b))) (<= (legal b wait) (true (turn a)))
(<= (next (turn b)) (true (turn a))) (<= (next (turn a)) (true (turn b)))
(<= (next (count ?n)) (true (count ?m)) (does ?r (add 1)) (succ ?m ?n))
(<= (next (count ?n)) (true (count ?m)) (does ?r (add 2)) (succ ?m ?k) (succ ?k ?n))
(<= (next (last ?r)) (true (turn ?r)))
(<= terminal (true (count 5))) (<= terminal (true (count 6)))
(<= (goal ?r 100) (true (last ?r))) (<= (goal a 0) (true (last b))) (<= (goal b 0) (true (last a)))
"""


def rounds(roles: int, moves: int, length: int) -> str:
    """Roles in a ring take turns, a phase for each; who moved last with move 1 gains."""
    names = [f"r{number}" for number in range(roles)]
    text = [f"(role {name})" for name in names] + [f"(init (turn {names[0]})) (init (at 0))"]
    for name, following in zip(names, [*names[1:], names[0]], strict=True):
        text.append(f"(<= (next (turn {following})) (true (turn {name})))")
        text.append(f"(<= (legal {name} wait) (not (true (turn {name}))))")
        text += [f"(<= (legal {name} (take {move})) (true (turn {name})))" for move in range(moves)]
        text.append(f"(<= (goal {name} 100) (true (took {name} 1))) (<= (goal {name} 0) (not (true (took {name} 1))))")
    text += [f"(<= (next (at {at + 1})) (true (at {at})))" for at in range(length)]
    text.append("(<= (next (took ?r ?m)) (does ?r (take ?m)))")
    text.append("(<= (next (took ?r ?m)) (true (took ?r ?m)) (not (true (turn ?r))))")
    text.append(f"(<= terminal (true (at {length}))) (<= terminal (true (took r0 0)))")
    return "\n".join(text)


def together(roles: int, moves: int) -> str:
    """All roles move at once, until two of them, or the only one, show the same as before."""
    names = [f"r{number}" for number in range(roles)]
    text = [f"(role {name}) (goal {name} {10 * number})" for number, name in enumerate(names)]
    text += [f"(legal {name} (show {move}))" for name in names for move in range(moves)]
    text.append("(<= (next (shown ?r ?m)) (does ?r (show ?m)))")
    text.append("(<= (next (again ?r)) (does ?r (show ?m)) (true (shown ?r ?m)))")
    text.append("(<= terminal (true (again ?r)) (true (again ?s)) (distinct ?r ?s))")
    text.append("(<= terminal (true (again r0)))")
    return "\n".join(text)


# Sometimes both roles have a choice, sometimes one, sometimes none.
CLASHES = """
(role a) (role b) (init (busy a)) (init (tick 0)) (coin up) (coin down) (coin edge)
(<= (legal ?r (put ?x)) (true (busy ?r)) (coin ?x))
(<= (legal ?r idle) (role ?r) (not (true (busy ?r))))
(<= (next (busy a)) (does a (put up))) (<= (next (busy b)) (does a (put down)))
(<= (next (busy a)) (does a (put edge))) (<= (next (busy b)) (does a (put edge)))
(<= (next (busy a)) (does b (put up))) (<= (next (busy b)) (does b (put edge)))
(<= (next (busy b)) (does a idle) (does b idle))
(<= (next (tick 1)) (true (tick 0))) (<= (next (tick 2)) (true (tick 1))) (<= (next (tick 3)) (true (tick 2)))
(<= (next (tick 4)) (true (tick 3)))
(<= (next (lay ?r ?x)) (does ?r (put ?x)))
(<= terminal (true (tick 4))) (<= terminal (true (lay a up)) (true (lay b up)))
(<= (goal ?r 100) (true (lay ?r edge))) (<= (goal ?r 30) (role ?r) (not (true (lay ?r edge))))
"""

SINGLE_MOVES = """
(role a) (role b) (legal a go) (legal b go) (init (at 0)) (succ 0 1) (succ 1 2) (succ 2 3)
(<= (next (at ?n)) (true (at ?m)) (succ ?m ?n)) (<= terminal (true (at 3))) (goal a 100) (goal b 0)
"""
NO_FACTS = "(role a) (role b) (legal a x) (legal a y) (legal b z) terminal (goal a 40) (goal b 60)"
ENDLESS_WITHOUT_FACTS = "(role a) (legal a x) (legal a y) (legal a z) (<= terminal (true never)) (goal a 40)"
CONSTANTS = """
(role a) (init stays) (init (value one)) (<= (next stays) (true stays)) (<= (next (value one)) (true stays))
(legal a (pick x)) (<= (legal a (pick y)) (true stays)) (<= (legal a (pick z)) (true gone))
(<= (next (picked ?x)) (does a (pick ?x))) (<= (next gone) (true gone))
(<= terminal (true (picked x)) (true stays)) (<= (goal a 70) (true (value one))) (<= (goal a 0) (true gone))
"""
ENDLESS = """
(role a) (role b) (init (at 0)) (legal a stay) (legal a walk) (legal b stay) (succ 0 1) (succ 1 2) (succ 2 0)
(<= (next (at ?m)) (true (at ?m)) (does a stay)) (<= (next (at ?n)) (true (at ?m)) (does a walk) (succ ?m ?n))
(<= terminal (true (at 9))) (goal a 100) (goal b 0)
"""
# From here, by the same move: the end, a place where role b has no move, a place without an end, or onwards.
FATES = """
(role a) (role b) (init here) (way end) (way hole) (way ring) (way on) (way more)
(<= (legal a (go ?x)) (true here) (way ?x)) (<= (legal a wait) (not (true here)))
(<= (legal b wait) (not (true (in hole))))
(<= (next here) (does a (go on))) (<= (next here) (does a (go more)))
(<= (next (in ?x)) (does a (go ?x))) (<= (next (in ring)) (true (in ring)))
(<= terminal (true (in end))) (<= (goal ?r 100) (role ?r) (true (in end)))
(<= (goal ?r 0) (role ?r) (not (true (in end))))
"""
TERMINAL_AT_FIRST = """
(role a) (init (at 0)) (legal a x) (<= (next (at 1)) (does a x)) (<= terminal (true (at 0)))
(<= (goal a 10) (true (at 0))) (<= (goal a 90) (true (at 1)))
"""
STUCK_AT_FIRST = """
(role a) (role b) (init p) (legal a x) (<= (legal b y) (true q)) (<= (next q) (true q)) (<= terminal (true q))
(goal a 0) (goal b 1)
"""
# A path grows in a graph until it connects; who connects is found by recursion within a state.
RECURSION = """
(role a) (role b) (init (turn a)) (node 1) (node 2) (node 3) (node 4)
(<= (legal ?r (link ?x ?y)) (true (turn ?r)) (node ?x) (node ?y) (distinct ?x ?y) (not (true (edge ?x ?y))))
(<= (legal a wait) (true (turn b))) (<= (legal b wait) (true (turn a)))
(<= (next (edge ?x ?y)) (does ?r (link ?x ?y))) (<= (next (edge ?x ?y)) (true (edge ?x ?y)))
(<= (next (turn b)) (true (turn a))) (<= (next (turn a)) (true (turn b)))
(<= (way ?x ?y) (true (edge ?x ?y))) (<= (way ?x ?z) (way ?x ?y) (true (edge ?y ?z)))
(<= terminal (way 1 4)) (<= terminal (way 4 4))
(<= (goal a 100) (way 1 4) (true (turn b))) (<= (goal a 0) (true (turn a))) (<= (goal a 50) (not (way 1 4)))
(<= (goal b 100) (way 4 4)) (<= (goal b 20) (not (way 4 4)))
"""
# Moves of three arguments; the next state asks for groups of them, in several ways.
PAIRS = """
(role a) (role b) (init (turn a)) (number 1) (number 2) (number 3) (number 4) (number 5) (number 6)
(<= (legal ?r (mark ?x ?y ?z)) (true (turn ?r)) (number ?x) (number ?y) (number ?z) (not (true (used ?x ?y))))
(<= (legal a wait) (true (turn b))) (<= (legal b wait) (true (turn a)))
(<= (next (turn b)) (true (turn a))) (<= (next (turn a)) (true (turn b)))
(<= (next (used ?x ?y)) (does ?r (mark ?x ?y ?z))) (<= (next (used ?x ?y)) (true (used ?x ?y)))
(<= (next (last ?z)) (does ?r (mark ?x ?y ?z)))
(<= (next (mixed ?x)) (does ?r (mark ?x ?y ?x)))
(<= (next (other ?z)) (does ?r (mark ?x ?y ?u)) (number ?z) (distinct ?u ?z))
(<= terminal (true (used ?x ?y)) (true (used ?y ?x)) (distinct ?x ?y))
(<= (goal ?r 100) (true (last 1)) (true (turn ?r))) (<= (goal ?r 50) (role ?r) (true (mixed ?x)))
(<= (goal ?r 0) (role ?r) (not (true (last 1))))
"""

GAMES = {
    "turns": TURNS,
    "rounds of 2": rounds(2, 3, 7),
    "rounds of 3": rounds(3, 2, 7),
    "rounds of 4": rounds(4, 2, 6),
    "one role": together(1, 3),
    "two at once": together(2, 3),
    "three at once": together(3, 2),
    "five at once": together(5, 2),
    "six at once": together(6, 2),
    "clashes": CLASHES,
    "single moves": SINGLE_MOVES,
    "constants": CONSTANTS,
    "fates": FATES,
    "recursion": RECURSION,
    "no facts": NO_FACTS,
    "endless without facts": ENDLESS_WITHOUT_FACTS,
    "endless": ENDLESS,
    "terminal at first": TERMINAL_AT_FIRST,
    "stuck at first": STUCK_AT_FIRST,
}
PHASES = {"turns": 2, "rounds of 2": 2, "rounds of 3": 3, "rounds of 4": 4, "three at once": 1, "recursion": 2}
