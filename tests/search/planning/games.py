"""Small games with one role, and what the best solution of each gives, found by looking at all states one by one."""

from ggp.circuit.compile import compile_game
from ggp.gdl.rulesheet import Rulesheet, parse_rulesheet
from ggp.gdl.state_machine import Facts, StateMachine
from ggp.gdl.terms import Term
from ggp.interpreter import Interpreter
from ggp.simulation.state_machine import CircuitMachine

LIGHTS = """
(role hand) (init (step 0)) (init (on 1)) (init (on 3)) (init (on 4))
(lamp 1) (lamp 2) (lamp 3) (lamp 4) (lamp 5)
(near 1 2) (near 2 3) (near 3 4) (near 4 5)
(<= (switches ?a ?a) (lamp ?a)) (<= (switches ?a ?b) (near ?a ?b)) (<= (switches ?a ?b) (near ?b ?a))
(<= (legal hand (press ?a)) (lamp ?a))
(<= (switched ?b) (does hand (press ?a)) (switches ?a ?b))
(<= (next (on ?a)) (true (on ?a)) (not (switched ?a)))
(<= (next (on ?a)) (lamp ?a) (not (true (on ?a))) (switched ?a))
(<= (next (step ?m)) (true (step ?n)) (after ?n ?m))
(after 0 1) (after 1 2) (after 2 3) (after 3 4) (after 4 5)
(<= bright (true (on ?a)))
(<= terminal (not bright)) (<= terminal (true (step 5)))
(<= (goal hand 100) (not bright)) (<= (goal hand 0) bright)
"""

SLIDE = """
(role p) (init (at 1 1 c)) (init (at 1 2 b)) (init (at 1 3 e)) (init (at 2 1 d)) (init (at 2 2 a)) (init (at 2 3 hole))
(init (step 0))
(near 1 2) (near 2 1) (near 2 3) (near 3 2)
(<= (legal p (slide ?r ?c)) (true (at ?r ?d hole)) (near ?c ?d) (true (at ?r ?c ?x)))
(<= (legal p (slide 1 ?c)) (true (at 2 ?c hole))) (<= (legal p (slide 2 ?c)) (true (at 1 ?c hole)))
(<= (next (at ?r ?c hole)) (does p (slide ?r ?c)))
(<= (next (at ?r ?c ?x)) (true (at ?r ?c hole)) (does p (slide ?q ?d)) (true (at ?q ?d ?x)))
(<= (next (at ?r ?c ?x)) (true (at ?r ?c ?x)) (distinct ?x hole) (not (gone ?r ?c)))
(<= (gone ?r ?c) (does p (slide ?r ?c)))
(<= done (true (at 1 1 a)) (true (at 1 2 b)) (true (at 1 3 c)) (true (at 2 1 d)) (true (at 2 2 e)))
(<= undone (true (at 1 1 a)) (true (at 1 2 b)) (true (at 1 3 c)) (true (at 2 1 e)) (true (at 2 2 d)))
(<= terminal done) (<= terminal undone)
(<= (goal p 100) done) (<= (goal p 30) undone) (<= (goal p 0) (not done) (not undone))
"""

LADDER = """
(role r) (init (n 0)) (after 0 1) (after 1 2) (after 2 3) (after 3 4) (after 4 5) (after 5 6)
(legal r up) (legal r stop) (<= (legal r jump) (true (n ?x)) (after ?x ?y) (after ?y ?z))
(<= (next (n ?y)) (does r up) (true (n ?x)) (after ?x ?y))
(<= (next (n ?z)) (does r jump) (true (n ?x)) (after ?x ?y) (after ?y ?z))
(<= (next (n ?x)) (does r stop) (true (n ?x))) (<= (next over) (does r stop))
(<= terminal (true over)) (<= terminal (true (n 6)))
(<= (goal r 70) (true over) (true (n 5)))
(<= (goal r 20) (true over) (not (true (n 5)))) (<= (goal r 10) (not (true over)))
"""

HOPELESS = """
(role r) (init (n 0)) (after 0 1) (after 1 2) (after 2 3) (legal r a) (legal r b)
(<= (next (n ?y)) (true (n ?x)) (after ?x ?y)) (<= (next red) (does r a) (true (n 1))) (<= (next red) (true red))
(<= (next blue) (does r b) (true (n 1))) (<= (next blue) (true blue))
(<= terminal (true (n 3)))
(<= (goal r 100) (true red) (true blue)) (<= (goal r 40) (true blue) (not (true red))) (<= (goal r 5) (not (true blue)))
"""

ENDLESS = """
(role r) (init even) (legal r go) (legal r stay)
(<= (next odd) (true even) (does r go)) (<= (next even) (true odd) (does r go))
(<= (next even) (true even) (does r stay)) (<= (next odd) (true odd) (does r stay))
(<= terminal (true never)) (<= (goal r 100) (true odd)) (<= (goal r 0) (true even))
"""

LATIN = """
(role w) (size 1) (size 2) (size 3)
(<= (init (cell ?r ?c blank)) (size ?r) (size ?c) (not (given ?r ?c))) (init (cell 1 1 2)) (init (cell 2 2 3))
(given 1 1) (given 2 2)
(<= (legal w (put ?r ?c ?n)) (true (cell ?r ?c blank)) (size ?n) (not (used ?r ?c ?n)))
(<= (used ?r ?c ?n) (size ?c) (true (cell ?r ?d ?n))) (<= (used ?r ?c ?n) (size ?r) (true (cell ?q ?c ?n)))
(legal w quit)
(<= (next (cell ?r ?c ?n)) (does w (put ?r ?c ?n)))
(<= (next (cell ?r ?c ?x)) (true (cell ?r ?c ?x)) (not (filled ?r ?c))) (<= (filled ?r ?c) (does w (put ?r ?c ?n)))
(<= (next given_up) (does w quit))
(<= open (true (cell ?r ?c blank)))
(<= terminal (true given_up)) (<= terminal (not open))
(<= (goal w 100) (not open)) (<= (goal w 0) open)
"""

ENDED = "(role r) (init x) (legal r a) (<= (next y) (does r a)) (<= terminal (true x)) (goal r 50)"

STUCK = """
(role r) (init a) (<= (legal r left) (true a)) (<= (legal r right) (true a))
(<= (next hole) (does r left)) (<= (next end) (does r right)) (<= terminal (true end))
(<= (goal r 60) (true end)) (<= (goal r 0) (not (true end)))
"""

DIALS = """
(role r) (init (dial a 1)) (init (dial b 3)) (init (step 0)) (dials a) (dials b)
(after 0 1) (after 1 2) (after 2 3) (after 3 4) (after 4 5) (after 5 6) (after 6 7) (after 7 8)
(turned 0 1) (turned 1 2) (turned 2 3) (turned 3 4) (turned 4 0)
(legal r hold) (legal r both) (<= (legal r (turn ?d)) (dials ?d))
(<= (moved ?d) (does r both) (dials ?d)) (<= (moved ?d) (does r (turn ?d)))
(<= (next (dial ?d ?y)) (moved ?d) (true (dial ?d ?x)) (turned ?x ?y))
(<= (next (dial ?d ?x)) (true (dial ?d ?x)) (not (moved ?d)))
(<= (next (step ?n)) (true (step ?m)) (after ?m ?n))
(<= open (true (dial a 0)) (true (dial b 0)))
(<= terminal open) (<= terminal (true (step 8)))
(<= (goal r 100) open) (<= (goal r 0) (not open))
"""

GAMES = {
    "lights": LIGHTS,
    "slide": SLIDE,
    "ladder": LADDER,
    "hopeless": HOPELESS,
    "endless": ENDLESS,
    "latin": LATIN,
    "ended": ENDED,
    "stuck": STUCK,
    "dials": DIALS,
}


def rulesheet_of(name: str) -> Rulesheet:
    return parse_rulesheet(GAMES[name], name)


def machine_of(name: str) -> CircuitMachine:
    rulesheet = rulesheet_of(name)
    return CircuitMachine(rulesheet, compile_game(rulesheet))


def all_states(machine: StateMachine) -> set[Facts]:
    """Everything that can be reached; nothing follows a terminal state."""
    role = machine.roles[0]
    known = {machine.initial_state}
    waiting = [machine.initial_state]
    while waiting:
        state = waiting.pop()
        if machine.is_terminal(state):
            continue
        for move in machine.legal_moves(state, role):
            following = machine.next_state(state, (move,))
            if following not in known:
                known.add(following)
                waiting.append(following)
    return known


def best_value(name: str) -> int | None:
    """The highest goal value of a terminal state, by the interpreter; None when there is no such state."""
    machine = Interpreter(rulesheet_of(name))
    ends = [state for state in all_states(machine) if machine.is_terminal(state)]
    return max((machine.goal(state, machine.roles[0]) or 0 for state in ends), default=None)


def shortest(name: str) -> int:
    """How long the shortest way to the highest goal value is, by the interpreter."""
    machine, best = Interpreter(rulesheet_of(name)), best_value(name)
    role = machine.roles[0]
    layer, steps = {machine.initial_state}, 0
    while not any(machine.is_terminal(state) and machine.goal(state, role) == best for state in layer):
        alive = [state for state in layer if not machine.is_terminal(state)]
        layer = {machine.next_state(state, (move,)) for state in alive for move in machine.legal_moves(state, role)}
        steps += 1
    return steps


def value_of(name: str, state: Facts, moves: tuple[Term, ...]) -> int:
    """What moves come to, by the interpreter; they must be legal and end exactly at the first terminal state."""
    machine = Interpreter(rulesheet_of(name))
    role = machine.roles[0]
    for move in moves:
        assert not machine.is_terminal(state)
        assert move in machine.legal_moves(state, role)
        state = machine.next_state(state, (move,))
    assert machine.is_terminal(state)
    return machine.goal(state, role) or 0
