"""Bytecode of a logic program → answers: kernels that evaluate rules with tables, one state at a time.

A question is a relation with some arguments bound, a *query* with a key; each is answered once, and its answers, the
values of the other arguments, are kept (`answer_tables`). A clause is straight-line code over registers; what gives
several bindings is a loop, and each instruction names the one to continue with on failure, so there are no choice
points to keep. Calls are frames on an explicit stack.

Relations that read themselves are evaluated by linear tabling (Zhou, Sato and Shen 2008): who asks a table that is
being evaluated gets the answers that are there, and the first table of a component is evaluated again until it and
those that wait for it get no further answers. Components are found as Tarjan (1972) does it, by `INDEX` and `LOW`.
Where an answer depends on its own negation the end is `CYCLE`.
"""

import numpy as np
from numpy.typing import NDArray

from ggp.interpreter.answer_tables import (
    ANSWER_SIZE,
    ANSWERS,
    AT,
    CALLED,
    COMPLETE,
    COUNT,
    CYCLE,
    DONE,
    ENDED,
    ENTRY,
    EVALUATING,
    FACTS,
    FIRST,
    FRAME,
    FULL_STACK,
    FULL_TERMS,
    FUNCTOR,
    INDEX,
    KEYS,
    LEFT,
    LINK,
    LOOPED,
    LOW,
    NEW,
    NO_GOAL,
    NO_INDEX,
    PENDING,
    PHASE,
    PROVISIONAL,
    QUERY,
    REGISTERS,
    ROLE,
    ROOT,
    STATE,
    STATUS,
    STEP_TIER,
    STEPS,
    TABLE_SIZE,
    UNFINISHED,
    VALUE,
    VALUES,
    WIDEST,
    Integers,
    Machine,
    add_answer,
    append_answer,
    build_term,
    enter_state,
    find_table,
    forget,
    index_facts,
    load_values,
    make_table,
    value_of,
)
from ggp.kernel import Int, draw, inner, lean
from ggp.row_sums import get_integer, set_integer

# Instructions: an operation, three numbers a, b and c, and where to go on where it fails. An *operand* is a register of
# the frame, or ~ the number of a term; a *list* is where several operands begin.
(
    NEXT,  # the c values of the next answer of iterator a go to the registers from b on
    GET,  # the values of the first answer to query a with the operands of list b go to the registers from c on
    MATCH,  # operand a is a term of functor b; its arguments go to the registers from c on
    COPY,  # register a := operand b
    MOVE_OF,  # register b := what operand a does, if that is a role
    EACH_ROLE,  # begins a loop over the roles with iterator a, which is a register
    NEXT_ROLE,  # registers b and c := the next role of iterator a and its move
    BUILD,  # register a := the term of functor b with the operands of list c
    SAME,  # operands a and b
    DIFFERENT,
    FACT,  # operand a is true in the state
    NO_FACT,
    DOES,  # role a does move b, both operands
    DOES_NOT,
    ASK,  # begins a loop with iterator c over the answers to query a with the operands of list b
    HOLDS,  # query a has an answer with the operands of list b
    HOLDS_NOT,
    ANSWER,  # the operands of list a are an answer to the frame's query; goes on as where it fails
    ADD,  # the same, where it is known to be a new one
    FAIL,
    END,  # the clauses of the frame's query are done
    HALT,
) = range(22)

# A frame begins with this, then its registers.
_PARENT, _OWN_TABLE, _RETURN, _BEFORE, _CALLEE, _FRAME_SIZE = range(6)

# Questions of a playout: what `control[PHASE]` can be. A frame of a question from outside has two registers.
LEGAL, TERMINAL, GOAL, NEXT_STATE, BEGIN = range(5)
ROOT_ITERATOR, ROOT_REGISTERS = 1, 2  # of such a frame


@inner
def _bind(m: Machine, at: Int, here: Int) -> np.int64:
    """Does an instruction before SAME; whether it succeeds, below 0 without room."""
    stack, memory = m.stack, m.memory
    operation, a, b, c = m.code[at, 0], np.int64(m.code[at, 1]), np.int64(m.code[at, 2]), np.int64(m.code[at, 3])
    succeeds = True
    if operation == NEXT:
        answer = get_integer(memory, get_integer(stack, here + a) + LINK)
        set_integer(stack, here + a, answer)
        succeeds = bool(answer != 0)
        if succeeds:
            load_values(m, here + b, memory, answer + ANSWER_SIZE, c)
    elif operation == GET:
        table = find_table(m, a, b, here)
        succeeds = bool(table > 0)
        if succeeds:
            answer = np.int64(memory[table + LINK])
            load_values(m, here + c, memory, answer + ANSWER_SIZE, np.int64(m.queries[a, VALUES]))
    elif operation == BUILD:
        term = build_term(m, b, c, here)
        if term < 0:
            return term
        stack[here + a] = term
    elif operation == MATCH:
        term = value_of(m, here, a)
        succeeds = bool(m.terms[term, FUNCTOR] == b)
        if succeeds:
            load_values(m, here + c, m.arguments, np.int64(m.terms[term, FIRST]), np.int64(m.arities[b]))
    elif operation == COPY:
        stack[here + a] = value_of(m, here, b)
    elif operation == EACH_ROLE:
        stack[here + a] = -1
    else:
        succeeds = _bind_move(m, operation == NEXT_ROLE, here, a, b, c)
    return np.int64(succeeds)


@inner
def _bind_move(m: Machine, is_next: bool, here: Int, a: Int, b: Int, c: Int) -> bool:
    """Does NEXT_ROLE or MOVE_OF; whether that succeeds."""
    if is_next:
        following = np.int64(m.stack[here + a]) + 1
        m.stack[here + a] = following
        if following >= len(m.joint) or m.joint[following, 1] < 0:
            return False
        m.stack[here + b] = m.joint[following, 0]
        m.stack[here + c] = m.joint[following, 1]
        return True
    for role in range(len(m.joint)):
        if m.joint[role, 0] == value_of(m, here, a) and m.joint[role, 1] >= 0:
            m.stack[here + b] = m.joint[role, 1]
            return True
    return False


@inner
def _test(m: Machine, at: Int, here: Int) -> bool:
    """Whether an instruction from SAME on, and before ASK, succeeds."""
    operation = m.code[at, 0]
    one, other = value_of(m, here, np.int64(m.code[at, 1])), value_of(m, here, np.int64(m.code[at, 2]))
    if operation <= DIFFERENT:
        return bool((one == other) == (operation == SAME))
    if operation <= NO_FACT:
        return bool((m.marks[one] == m.control[STATE]) == (operation == FACT))
    found = False
    for role in range(len(m.joint)):
        found = found or bool(m.joint[role, 0] == one and m.joint[role, 1] == other)
    return found == bool(operation == DOES)


@inner
def _ask(m: Machine, at: Int, frame: Int) -> np.int64:
    """The table that an ASK, HOLDS or HOLDS_NOT reads, 0 if there is no such row; below 0 another end, or CALLED.

    That is where it has to be evaluated first: a frame for it is on the stack.
    """
    query, operands = np.int64(m.code[at, 1]), np.int64(m.code[at, 2])
    table = find_table(m, query, operands, frame + _FRAME_SIZE)
    if table < 0:
        if m.queries[query, ENTRY] < 0:
            if m.indices[query, 0] == NO_INDEX or m.indexed[query] == m.control[STATE]:
                return np.int64(0)
            status = index_facts(m, query, np.int64(m.stack[frame + _CALLEE]))
            return max(find_table(m, query, operands, frame + _FRAME_SIZE), np.int64(0)) if status == DONE else status
        table = make_table(m, query, operands, frame + _FRAME_SIZE, ~table)
        if table < 0:
            return table
    if get_integer(m.memory, table + STATUS) == COMPLETE:
        return table
    if m.memory[table + STATUS] == NEW:
        return _call(m, query, table, at, frame)
    if m.code[at, 0] == HOLDS_NOT:
        return np.int64(CYCLE)
    m.memory[table + LOOPED] = 1
    own = np.int64(m.stack[frame + _OWN_TABLE])
    m.memory[own + LOW] = min(m.memory[own + LOW], m.memory[table + LOW])
    return table


@inner
def _call(m: Machine, query: Int, table: Int, at: Int, frame: Int) -> np.int64:
    """Pushes the frame that evaluates a table: CALLED, or FULL_STACK."""
    stack, memory, pending = m.stack, m.memory, m.control[PENDING]
    callee = np.int64(stack[frame + _CALLEE])
    following = callee + _FRAME_SIZE + m.queries[query, REGISTERS]
    if following + m.control[WIDEST] > len(stack) or pending >= len(m.pending):
        return np.int64(FULL_STACK)
    stack[frame + _RETURN] = at
    stack[callee + _PARENT] = frame
    stack[callee + _OWN_TABLE] = table
    stack[callee + _BEFORE] = m.control[ANSWERS] & 0x7FFFFFFF
    stack[callee + _CALLEE] = following
    load_values(m, callee + _FRAME_SIZE, memory, table + TABLE_SIZE, np.int64(m.queries[query, KEYS]))
    memory[table + STATUS] = EVALUATING
    memory[table + INDEX] = pending
    memory[table + LOW] = pending
    memory[table + LOOPED] = 0
    m.pending[pending] = table
    m.control[PENDING] = pending + 1
    m.control[FRAME] = callee
    return np.int64(CALLED)


@inner
def _end(m: Machine, frame: Int) -> np.int64:
    """Where to go on when all clauses of a frame's query are done; `control[FRAME]` is the frame of that."""
    stack, memory = m.stack, m.memory
    table = np.int64(stack[frame + _OWN_TABLE])
    index, low = np.int64(memory[table + INDEX]), np.int64(memory[table + LOW])
    parent = np.int64(stack[frame + _PARENT])
    if low < index:
        memory[table + STATUS] = PROVISIONAL
        own = np.int64(stack[parent + _OWN_TABLE])
        memory[own + LOW] = min(memory[own + LOW], low)
    else:
        now = m.control[ANSWERS] & 0x7FFFFFFF
        again = memory[table + LOOPED] != 0 and stack[frame + _BEFORE] != now
        for place in range(index + 1, m.control[PENDING]):
            memory[m.pending[place] + STATUS] = NEW if again else COMPLETE
        if again:
            m.control[PENDING] = index + 1
            stack[frame + _BEFORE] = now
            return np.int64(m.queries[~memory[table + QUERY], ENTRY])
        memory[table + STATUS] = COMPLETE
        m.control[PENDING] = index
    m.control[FRAME] = parent
    return np.int64(stack[parent + _RETURN])


@inner
def _give(m: Machine, at: Int, frame: Int) -> np.int64:
    """Does an ANSWER or ADD; below 0 without room."""
    table, operands = np.int64(m.stack[frame + _OWN_TABLE]), np.int64(m.code[at, 1])
    query = np.int64(~m.memory[table + QUERY])
    if m.code[at, 0] == ADD:
        return append_answer(m, query, table, operands, frame + _FRAME_SIZE, -1)
    return add_answer(m, query, table, operands, frame + _FRAME_SIZE)


@inner
def _read(m: Machine, at: Int, frame: Int) -> np.int64:
    """Does an ASK, HOLDS or HOLDS_NOT; whether it succeeds, below 0 as for `_ask`."""
    table, operation = _ask(m, at, frame), m.code[at, 0]
    if table < 0:
        return table
    if operation != ASK:
        return np.int64((m.memory[table + LINK] != 0) == (operation == HOLDS))
    m.stack[frame + _FRAME_SIZE + m.code[at, 3]] = table
    return np.int64(1)


@lean
def _run(m: Machine) -> Int:
    """Goes on with the evaluation until it is done, or no instructions are left."""
    at, frame, done = m.control[AT], m.control[FRAME], np.int64(UNFINISHED)
    left = m.control[LEFT]
    while left > 0:
        left -= 1
        operation = m.code[at, 0]
        if operation < SAME:
            done = _bind(m, at, frame + _FRAME_SIZE)
        elif operation < ASK:
            done = np.int64(_test(m, at, frame + _FRAME_SIZE))
        elif operation < ANSWER:
            done = _read(m, at, frame)
        elif operation < FAIL:
            done = min(_give(m, at, frame), np.int64(0))
        elif operation == END:
            done = np.int64(CALLED)
            at = _end(m, frame)
        else:
            done = np.int64(0)
        if done >= 0 and operation != HALT:
            at = at + 1 if done else np.int64(m.code[at, 4])
        elif done == CALLED:  # or returned
            frame = m.control[FRAME]
            at = at if operation == END else np.int64(m.queries[m.code[at, 1], ENTRY])
            done = np.int64(UNFINISHED)
        else:
            break
    else:
        done = np.int64(UNFINISHED)
    m.control[AT], m.control[FRAME], m.control[LEFT] = at, frame, left
    return done


@inner
def _begin(m: Machine, entry: Int, role: Int) -> None:
    """Makes the code of a question from outside the next to be run; `role` is its first argument, if it has one."""
    root = m.control[ROOT]
    m.stack[root + _OWN_TABLE] = 0
    m.stack[root + _CALLEE] = root + _FRAME_SIZE + ROOT_REGISTERS
    m.stack[root + _FRAME_SIZE] = role
    m.control[AT], m.control[FRAME], m.control[PENDING] = entry, root, 0


@inner
def _answered(m: Machine) -> np.int64:
    """The table with the answers to a question from outside."""
    return np.int64(m.stack[m.control[ROOT] + _FRAME_SIZE + ROOT_ITERATOR])


@lean
def ask(m: Machine, entry: Int, role: Int, moves: Int) -> Int:
    """How many answers a question from outside has; they go to `found`, as many as it has room for.

    Below 0 is another end, UNFINISHED when no instructions are left. An `entry` below 0 goes on with the question
    before. Answers that depend on the joint move are forgotten beforehand where `moves` is not 0.
    """
    if moves:
        forget(m, STEP_TIER)
    if entry >= 0:
        _begin(m, entry, role)
    status = _run(m)
    if status != DONE:
        return status
    table = _answered(m)
    count, answer = np.int64(m.memory[table + COUNT]), np.int64(m.memory[table + LINK])
    if count and m.queries[~m.memory[table + QUERY], VALUES]:
        for place in range(count if count < len(m.found) else len(m.found)):
            m.found[place] = m.memory[answer + ANSWER_SIZE]
            answer = np.int64(m.memory[answer + LINK])
    return count


@inner
def _choose(m: Machine, role: Int, random: NDArray[np.uint64]) -> bool:
    """Draws a move of a role from its legal ones; whether there are any."""
    table = _answered(m)
    answer, count = np.int64(m.memory[table + LINK]), np.int64(m.memory[table + COUNT])
    if not count:
        return False
    for _ in range(draw(random, count)):
        answer = np.int64(m.memory[answer + LINK])
    m.joint[role, 1] = m.memory[answer + ANSWER_SIZE]
    return True


@inner
def _advance(m: Machine) -> Int:
    """Makes the answers the state; not DONE without room."""
    table = _answered(m)
    answer, count = np.int64(m.memory[table + LINK]), np.int64(m.memory[table + COUNT])
    if count > len(m.facts):
        return FULL_TERMS
    for place in range(count):
        m.facts[place] = m.memory[answer + ANSWER_SIZE]
        answer = np.int64(m.memory[answer + LINK])
    m.control[FACTS] = count
    m.control[STEPS] += 1
    enter_state(m)
    return DONE


@inner
def _goal_value(m: Machine) -> np.int64:
    """The one number among the answers; NO_GOAL where there is none, or several."""
    answer, found, numbers = np.int64(m.memory[_answered(m) + LINK]), np.int64(NO_GOAL), 0
    while answer:
        value = np.int64(m.terms[m.memory[answer + ANSWER_SIZE], VALUE])
        if value != NO_GOAL:
            found = value
            numbers += 1
        answer = np.int64(m.memory[answer + LINK])
    return found if numbers == 1 else np.int64(NO_GOAL)


@lean
def play_out(m: Machine, entries: Integers, random: NDArray[np.uint64], max_steps: Int) -> Int:
    """Goes on with a playout from the present state: DONE when it is over, UNFINISHED if no instruction is left.

    `entries` are those of the first four phases. At the end `goals` has the goal value of each role, NO_GOAL where
    there is none or several, `control[STEPS]` the steps and `control[ENDED]` whether the state is terminal. It begins
    with `control[PHASE]` BEGIN and `control[STEPS]` 0.
    """
    while True:
        phase, role = m.control[PHASE], m.control[ROLE]
        if phase != BEGIN:
            status = _run(m)
            if status != DONE:
                return status
        following, next_role = np.int64(TERMINAL), np.int64(0)
        if phase == TERMINAL:
            m.control[ENDED] = m.memory[_answered(m) + LINK] != 0
            is_over = m.control[ENDED] or m.control[STEPS] >= max_steps
            following = np.int64(GOAL if is_over else LEGAL)
        elif phase == LEGAL:
            if not _choose(m, role, random):  # a role that cannot move ends the playout
                following = np.int64(GOAL)
            elif role + 1 < len(m.joint):
                following, next_role = phase, role + 1
            else:
                following = np.int64(NEXT_STATE)
                forget(m, STEP_TIER)
        elif phase == NEXT_STATE:
            status = _advance(m)
            if status != DONE:
                return status
        elif phase == GOAL:
            m.goals[role] = _goal_value(m)
            if role + 1 == len(m.joint):
                return DONE
            following, next_role = phase, role + 1
        m.control[PHASE], m.control[ROLE] = following, next_role
        _begin(m, entries[following], m.joint[next_role, 0])
