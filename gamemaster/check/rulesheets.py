"""Small rulesheets for the checks, each with a peculiarity that rulesheets may have."""

PLAIN = """
(role solo)
(init (left 2))
(less 2 1) (less 1 0)
(legal solo (go east)) (legal solo (go west))
(<= (next (left ?m)) (true (left ?n)) (less ?n ?m))
(<= terminal (true (left 0)))
(goal solo 100)
"""  # read in no time; a match has two steps
PLAIN_ROLE = "solo"
PLAIN_MOVES = (("go", "east"), ("go", "west"))

_LONG = "a-word-of-many-letters" * 10

ODD_NAMES = f"""
(role player.1)
(role ->)
(init (info 0))
(play 0 1) (play 1 +2)
(word start) (word ready) (word busy) (word 007) (word a_b-c.d/e!) (word {_LONG})
(<= (legal ?-1 (stop ?Word? ?Word?)) (role ?-1) (word ?Word?))
(<= (next (info ?y)) (true (info ?x)) (play ?x ?y))
(<= terminal (true (info +2)))
(<= (goal ?-1 50) (role ?-1))
"""  # words of the protocol, signs and digits as names; the match has two steps

LETTERS = """
(role weiß)
(init (größe 2))
(kleiner 2 1) (kleiner 1 0)
(legal weiß (zieh süd)) (legal weiß (zieh 北))
(<= (next (größe ?m)) (true (größe ?n)) (kleiner ?n ?m))
(<= terminal (true (größe 0)))
(goal weiß 100)
"""  # letters that take more than one byte
LETTERS_ROLE = "weiß"

PERCEPTS = """
(role asker)
(role random)
(init (turn 0))
(succ 0 1) (succ 1 2) (succ 2 3)
(number 1) (number 2) (number 3)
(<= (legal ?r (say ?n)) (role ?r) (number ?n))
(<= (next (turn ?m)) (true (turn ?n)) (succ ?n ?m))
(<= (sees asker same) (does asker (say ?n)) (does random (say ?n)))
(<= (sees asker (other ?m)) (does asker (say ?n)) (does random (say ?m)) (distinct ?n ?m))
(<= terminal (true (turn 3)))
(goal asker 50)
(goal random 50)
"""  # GDL-II: what the other role did is told by percepts only
