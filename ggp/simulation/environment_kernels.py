"""Environments in blocks of 512 lanes, all stepped at once: the kernels that run an `EnvironmentProgram`.

Moves come as integers, one row for each environment; arrays of bits or octets, with a row for each environment, go out.
A block has three regions: before the step, after it, and that in which a lane ended which began anew at once. The first
two change places at every step, so that nothing has changed when a step turns out not to be possible.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.circuit.network import Ids
from ggp.kernel import (
    LANES,
    WORD,
    Int,
    Words,
    aligned_words,
    any_lane,
    blend,
    call,
    fill_random,
    gate_and,
    inner,
    lean,
    lowest,
)
from ggp.simulation.environment import EnvironmentProgram
from ggp.simulation.evaluate import Code, run_segments
from ggp.transposition import Octets, collect, deal, mark, transpose_lanes

ONLY = -1  # in place of a move's number: the only legal move of a role whose turn it is not
NEXT_STEP, SAME_STEP, DISABLED = range(3)  # when a lane that has ended begins anew, as Gymnasium's AutoresetMode
BEFORE, AFTER, FINAL = range(3)  # regions of a block
_BLOCK = 64  # rows that are transposed at a time
_FULL = np.uint64(0xFFFFFFFFFFFFFFFF)

Numbers = NDArray[np.int64]


class View(NamedTuple):
    """What is shown of each environment: rows of its region, observation first, then the mask."""

    rows: tuple[Ids, Ids]  # where each row is in the region; -1: nothing
    words: tuple[Ids | None, Ids | None]  # how many rows each word takes, 64 at most; None: each row is an octet
    turned: Ids  # (t, 3) entry of the observation, given role, row: what is there instead where this role is the mover


class EpisodePlan(NamedTuple):
    """What does not change while environments run; threads may share it. In few arrays: each costs 0.2 µs a call."""

    numbers: Numbers  # see below; then tables
    code: Ids  # the program, for where there is no machine code
    worth: NDArray[np.float32]  # (goals + 1,) what each goal value counts, and last where there is none or several


# indices of EpisodePlan.numbers
_SIZE, _ENDED, _TERMINAL, _MOVER, _GOALS, _ROLES = range(6)
_FIRST_BITS, _WILD, _BAD, _RESET, _FIRST_RANDOM, _RANDOM, _FIRST_BLOCK, _INITIAL, _ROWS = range(6, 15)
_AUTORESET, _MOST_STEPS, _ENVIRONMENTS, _IS_PACKED = range(15, 19)
_TERMINATED, _TRUNCATED, _WHOSE = range(19, 22)  # where these are among the octets that are told
ADDRESS = 22  # machine code of the step, 0 for none; filled in by another thread at any time
# where tables begin: (given, 3), (given, 2), (rows,), (f, 4), (t, 3), and where the last one ends
_SLOTS, _GOAL_RANGES, _SHOWN, _FIELDS, _TURNED, _END = range(23, 29)
_GATES, _SEGMENTS, _FEEDBACK = range(29, 32)
_HEADER = 32

# rows of a block, after its three regions
_STREAMS, _USED, _WRONG, _OWN = 0, 8, 9, 10  # random numbers before and after the step; environments; bad numbers


class EpisodeLimits(NamedTuple):
    """How environments begin anew and end before the rules say so."""

    autoreset: int
    most_steps: int  # 0: any number
    environments: int


class Told(NamedTuple):
    """What is told of n environments, one array after the other; `Places` says where each is."""

    octets: Octets
    bits: NDArray[np.uint64]
    reward: NDArray[np.float32]  # (n, given roles)


class Places(NamedTuple):
    """Where the arrays are among the octets or bits, and how long these are."""

    observation: int
    mask: int
    terminated: int  # (n rounded up to 64,) like the following
    truncated: int
    mover: int  # 255 where there is none
    octets: int
    bits: int


def find_places(view: View, environments: int) -> Places:
    """Octets are written by 64, so after each array there is room for what is written too far."""
    padded = -(-environments // 64) * 64
    first, second = view.words
    if first is not None and second is not None:
        bits = environments * len(first)
        return Places(0, bits, 0, padded, 2 * padded, 3 * padded, bits + environments * len(second))
    mask = environments * len(view.rows[0]) + 64
    ends = mask + environments * len(view.rows[1]) + 64
    return Places(0, mask, ends, ends + padded, ends + 2 * padded, ends + 3 * padded, 0)


def make_plan(
    program: EnvironmentProgram, limits: EpisodeLimits, worth: NDArray[np.float32], view: View
) -> EpisodePlan:
    """worth: (goals + 1,) as in EpisodePlan."""
    region, step = program.region, program.step
    places = find_places(view, limits.environments)
    fields = _make_fields(view, places)
    shown = np.concatenate(view.rows)
    filled = np.full(-(-len(shown) // _BLOCK) * _BLOCK, -1, np.int64)
    filled[: len(shown)] = shown
    ranges = [program.first_goal[role : role + 2] for role in program.given]
    tables = [np.array(table, np.int64).ravel() for table in (program.slots, ranges, filled, fields, view.turned)]
    first = _HEADER + np.cumsum([0, *map(len, tables)])
    blocks = _BLOCK * (len(filled) // _BLOCK + 1)
    numbers = (
        region.size, region.ended, region.terminal, region.mover, region.goals, len(program.given),
        program.first_bits, program.wild, program.bad, program.reset, program.first_random, program.random,
        program.first_block, program.first_block + blocks, program.first_block + blocks + region.size,
        limits.autoreset, limits.most_steps, limits.environments, int(view.words[0] is not None),
        places.terminated, places.truncated, places.mover, 0, *first, len(step.left), len(step.segments),
        len(step.feedback),
    )  # fmt: skip
    code = [step.left, step.right, step.out, step.segments.ravel(), step.feedback.ravel()]
    return EpisodePlan(
        np.concatenate([np.array(numbers, np.int64), *tables]),
        np.concatenate(code).astype(np.int32),
        worth.astype(np.float32),
    )


def _make_fields(view: View, places: Places) -> list[tuple[int, int, int, int]]:
    """The first row that is shown, how many, where they go in lane 0, and how much further in the next."""
    fields, first = [], 0
    for rows, words, place in zip(view.rows, view.words, (places.observation, places.mask), strict=True):
        if words is None:
            parts = [(at, min(64, len(rows) - at), at) for at in range(0, len(rows), 64)]
            fields += [(first + at, count, place + to, len(rows)) for at, count, to in reversed(parts)]
        else:
            starts = np.cumsum(words) - words
            fields += [
                (first + int(at), int(count), place + word, len(words))
                for word, (at, count) in enumerate(zip(starts, words, strict=True))
            ]
        first += len(rows)
    return fields


class Shard(NamedTuple):
    """Blocks in a row, and the words that one thread works on."""

    words: Words  # the program's rows, then each block's
    elapsed: NDArray[np.int32]  # (2, 512 * blocks) steps since the lane began, before and after the step
    first: int  # the number of the first block

    @property
    def blocks(self) -> int:
        return int(self.elapsed.shape[1]) // LANES


def make_shard(plan: EpisodePlan, initial: NDArray[np.bool_], first: int, blocks: int) -> Shard:
    """Blocks number first … of the plan's environments; `restart` makes them begin. initial: (size,) a first region."""
    numbers = plan.numbers.tolist()
    words = aligned_words(numbers[_ROWS] + blocks * (3 * numbers[_SIZE] + _OWN))
    words[numbers[_INITIAL] :][: numbers[_SIZE]] = np.where(initial, _FULL, np.uint64(0))[:, np.newaxis]
    shard = Shard(words, np.zeros((2, LANES * blocks), np.int32), first)
    lanes = np.arange(LANES * blocks) + LANES * first < numbers[_ENVIRONMENTS]
    used = np.packbits(lanes.reshape(blocks, LANES), axis=1, bitorder="little").view("<u8")
    for block in range(blocks):
        words[_own_row(plan, block) + _USED] = used[block]
    return shard


def seed_shard(plan: EpisodePlan, shard: Shard, parity: int, seed: int) -> None:
    """Streams of random numbers that depend on the seed and the number of the block only."""
    for block in range(shard.blocks):
        made = np.random.SeedSequence((seed, shard.first + block)).generate_state(4 * WORD, np.uint64)
        row = _own_row(plan, block) + _STREAMS + 4 * parity
        shard.words[row : row + 4] = made.reshape(4, WORD)


def region_words(plan: EpisodePlan, shard: Shard, which: int, count: int, first: int = 0) -> NDArray[np.bool_]:
    """(512 * blocks, count) rows of a region, of each lane."""
    found = np.zeros((shard.blocks, count, WORD), "<u8")
    for block in range(shard.blocks):
        row = _own_row(plan, block) + (which - 3) * int(plan.numbers[_SIZE]) + first
        found[block] = shard.words[row : row + count]
    flags = np.unpackbits(found.view(np.uint8), axis=-1, bitorder="little").view(np.bool_)
    return flags.transpose(0, 2, 1).reshape(-1, count)


def _own_row(plan: EpisodePlan, block: int) -> int:
    """The first row of a block after its regions."""
    size = int(plan.numbers[_SIZE])
    return int(plan.numbers[_ROWS]) + block * (3 * size + _OWN) + 3 * size


@inner
def _first_row(numbers: Numbers, block: Int) -> Int:
    """The first row of a block."""
    return np.int64(numbers[_ROWS] + block * (3 * numbers[_SIZE] + _OWN))


@lean
def restart(plan: EpisodePlan, shard: Shard, parity: Int, chosen: NDArray[np.uint64]) -> None:
    """Make lanes begin anew; chosen: (blocks, 8)."""
    numbers, words = plan.numbers, shard.words
    for block in range(chosen.shape[0]):
        first = _first_row(numbers, block)
        for column in range(WORD):
            used = words[first + 3 * numbers[_SIZE] + _USED, column]
            words[numbers[_RESET], column] = chosen[block, column] | ~used
        _begin(numbers, words, first + parity * numbers[_SIZE])
        _forget_steps(numbers, shard, block, parity)


@inner
def _begin(numbers: Numbers, words: Words, region: Int) -> None:
    """Lanes of the row `reset` take the region of the beginning."""
    reset, initial = numbers[_RESET], numbers[_INITIAL]
    for at in range(numbers[_SIZE]):
        blend(words, region + at, initial + at, reset)


@inner
def _forget_steps(numbers: Numbers, shard: Shard, block: Int, parity: Int) -> None:
    for lane in range(LANES):
        if (shard.words[numbers[_RESET], lane >> 6] >> np.uint64(lane & 63)) & np.uint64(1):
            shard.elapsed[parity, LANES * block + lane] = 0


@lean
def step_blocks(plan: EpisodePlan, shard: Shard, parity: Int, moves: NDArray[Any], told: Told) -> bool:
    """Do a step in all lanes, and tell what came of it; False where a role cannot do what its number says.

    moves: (n, given roles) int32 or int64; or (n, 1): the movers' moves, and ONLY for all other roles. Only if all
    shards return True the other parity is the state; else nothing was changed.
    """
    numbers, words = plan.numbers, shard.words
    good, blocks = True, shard.elapsed.shape[1] // LANES
    for block in range(blocks):
        first = _first_row(numbers, block)
        before, after = first + parity * numbers[_SIZE], first + (1 - parity) * numbers[_SIZE]
        own = first + 3 * numbers[_SIZE]
        start = LANES * (shard.first + block)
        lanes = min(LANES, numbers[_ENVIRONMENTS] - start)
        if moves.shape[1] == numbers[_ROLES]:
            _put_moves(numbers, words, moves, start, lanes)
        else:
            _put_movers(numbers, words, moves, start, lanes, before)
        _advance(plan, words, own, parity, before, after)
        if not _check(numbers, words, own, before):
            good = False
            continue
        if numbers[_MOST_STEPS]:
            _count_steps(numbers, shard, block, parity, after)
        _finish(plan, words, start, lanes, after, told)
        if numbers[_AUTORESET] == SAME_STEP:
            if any_lane(words, after + numbers[_ENDED]):
                _keep_final(numbers, shard, block, parity, after, first + FINAL * numbers[_SIZE])
        elif any_lane(words, numbers[_RESET]):
            _begin(numbers, words, after)
        _tell(numbers, words, start, lanes, after, told, block == blocks - 1)
    return good


@lean
def step_arrays(  # noqa: PLR0913, PLR0917 - see below
    numbers: Numbers, code: Ids, worth: NDArray[np.float32], words: Words, elapsed: NDArray[np.int32], first: int,
    octets: Octets, bits: NDArray[np.uint64], reward: NDArray[np.float32], parity: Int, moves: NDArray[Any],
) -> bool:  # fmt: skip
    """`step_blocks` with the members of its arguments: from Python, a tuple of arrays takes 0.5 µs more than these."""
    plan, shard, told = EpisodePlan(numbers, code, worth), Shard(words, elapsed, first), Told(octets, bits, reward)
    return step_blocks(plan, shard, parity, moves, told)


@lean
def begin_arrays(  # noqa: PLR0913, PLR0917 - as in `step_arrays`
    numbers: Numbers, code: Ids, worth: NDArray[np.float32], words: Words, elapsed: NDArray[np.int32], first: int,
    octets: Octets, bits: NDArray[np.uint64], reward: NDArray[np.float32], parity: Int, chosen: NDArray[np.uint64],
) -> None:  # fmt: skip
    """`restart`, then `tell_blocks` of the state, with the members of their arguments."""
    plan, shard, told = EpisodePlan(numbers, code, worth), Shard(words, elapsed, first), Told(octets, bits, reward)
    restart(plan, shard, parity, chosen)
    tell_blocks(plan, shard, parity, told)


@inner
def _put_moves(numbers: Numbers, words: Words, moves: NDArray[Any], start: Int, lanes: Int) -> None:
    """The bits of the numbers as rows, and the lanes where one of them has more bits than fit."""
    wild, first_bits = numbers[_WILD], numbers[_FIRST_BITS]
    gate_and(words, 0, 0, wild)
    for row in range(first_bits, wild):
        gate_and(words, 0, 0, row)
    for role in range(moves.shape[1]):
        slot = numbers[_SLOTS] + 3 * role
        row, shift, bits = first_bits + 64 * numbers[slot], numbers[slot + 1], numbers[slot + 2]
        if collect(moves, start, role, lanes, words, row, shift) >> np.uint64(bits):
            for lane in range(lanes):
                if np.uint64(np.int64(moves[start + lane, role]) + 1) >> np.uint64(bits):
                    words[wild, lane >> 6] |= np.uint64(1) << np.uint64(lane & 63)
    for row in range(first_bits, wild, 64):
        transpose_lanes(words, row)


@inner
def _put_movers(numbers: Numbers, words: Words, moves: NDArray[Any], start: Int, lanes: Int, before: Int) -> None:
    """The same where one number is given for each lane: it is that of the mover."""
    wild, first_bits, block = numbers[_WILD], numbers[_FIRST_BITS], numbers[_FIRST_BLOCK]
    beyond = numbers[_RESET]  # free until the step is done
    for row in range(block, block + 64):
        gate_and(words, 0, 0, row)
    collect(moves, start, 0, lanes, words, block, 0)
    transpose_lanes(words, block)
    gate_and(words, 0, 0, wild)
    for role in range(numbers[_ROLES]):
        slot, mover = numbers[_SLOTS] + 3 * role, before + numbers[_MOVER] + role
        row, bits = first_bits + 64 * numbers[slot] + numbers[slot + 1], numbers[slot + 2]
        for bit in range(bits):
            gate_and(words, 2 * (block + bit), 2 * mover, row + bit)
        for bit in range(bits, 64):
            gate_and(words, 2 * (block + bit), 2 * mover, beyond)
            blend(words, wild, beyond, beyond)


@inner
def _advance(plan: EpisodePlan, words: Words, own: Int, parity: Int, before: Int, after: Int) -> None:
    numbers = plan.numbers
    if numbers[_RANDOM]:
        stream = own + _STREAMS + 4 * (1 - parity)
        for at in range(4):
            gate_and(words, 2 * (own + _STREAMS + 4 * parity + at), 1, stream + at)
        fill_random(words, numbers[_FIRST_RANDOM], numbers[_RANDOM], words[stream : stream + 4])
    if numbers[ADDRESS]:
        call(numbers[ADDRESS], words, before, after)
        return
    size, gates, code = numbers[_SIZE], numbers[_GATES], plan.code
    for at in range(size):
        gate_and(words, 2 * (before + at), 1, 1 + at)
    segments = 3 * gates + 4 * numbers[_SEGMENTS]
    program = Code(
        code[:gates], code[gates : 2 * gates], code[2 * gates : 3 * gates], code[3 * gates : segments].reshape(-1, 4),
        code[segments:].reshape(-1, 2), code[:0],
    )  # fmt: skip
    run_segments(words, program, 0, numbers[_SEGMENTS])
    for at in range(size):
        gate_and(words, 2 * (1 + size + at), 1, after + at)


@inner
def _check(numbers: Numbers, words: Words, own: Int, before: Int) -> bool:
    """Find the lanes that begin anew, and whether all others could do their moves."""
    reset, bad, ended = numbers[_RESET], numbers[_BAD], before + numbers[_ENDED]
    wrong = np.uint64(0)
    for column in range(WORD):
        over = words[ended, column]
        begins = over if numbers[_AUTORESET] == NEXT_STEP else np.uint64(0)
        words[reset, column] = begins | ~words[own + _USED, column]
        found = words[bad, column] | (over if numbers[_AUTORESET] == DISABLED else np.uint64(0))
        wrong |= found & ~words[reset, column]
    return bool(wrong == 0)


@inner
def _count_steps(numbers: Numbers, shard: Shard, block: Int, parity: Int, after: Int) -> None:
    """Cut off the lanes that have lasted long enough."""
    words, elapsed = shard.words, shard.elapsed
    for column in range(WORD):
        over, reset = np.uint64(0), words[numbers[_RESET], column]
        for at in range(64):
            lane, bit = LANES * block + 64 * column + at, np.uint64(at)
            count = np.int32(0) if (reset >> bit) & np.uint64(1) else np.int32(elapsed[parity, lane] + 1)
            elapsed[1 - parity, lane] = count
            over |= np.uint64(count >= numbers[_MOST_STEPS]) << bit
        words[after + numbers[_ENDED], column] |= over


@inner
def _finish(plan: EpisodePlan, words: Words, start: Int, lanes: Int, after: Int, told: Told) -> None:
    """Rewards and ends; the lanes that begin anew have neither."""
    numbers = plan.numbers
    ended, terminal, goals = after + numbers[_ENDED], after + numbers[_TERMINAL], after + numbers[_GOALS]
    told.reward[start : start + lanes] = np.float32(0)
    for column in range((lanes + 63) // 64):
        goes_on = ~words[numbers[_RESET], column]
        over, by_rules = words[ended, column] & goes_on, words[terminal, column] & goes_on
        first = start + 64 * column
        for place, flags in ((numbers[_TERMINATED], by_rules), (numbers[_TRUNCATED], over & ~by_rules)):
            mark(_FULL, told.octets, place + first, 0)
            mark(flags, told.octets, place + first, 1)
        while over:
            lane = lowest(over)
            over &= over - np.uint64(1)
            bit = np.uint64(lane)
            for role in range(numbers[_ROLES]):
                count, worth = 0, np.float32(0)
                table = numbers[_GOAL_RANGES] + 2 * role
                for goal in range(numbers[table], numbers[table + 1]):
                    if (words[goals + goal, column] >> bit) & np.uint64(1):
                        count += 1
                        worth = plan.worth[goal]
                told.reward[first + lane, role] = worth if count == 1 else plan.worth[-1]


@inner
def _keep_final(numbers: Numbers, shard: Shard, block: Int, parity: Int, after: Int, final: Int) -> None:
    """Keep the regions of the lanes that ended, and let these begin anew."""
    words, ended, reset = shard.words, after + numbers[_ENDED], numbers[_RESET]
    for column in range(WORD):
        words[reset, column] |= words[ended, column]
    for at in range(numbers[_SIZE]):
        blend(words, final + at, after + at, reset)
    _begin(numbers, words, after)
    if numbers[_MOST_STEPS]:
        _forget_steps(numbers, shard, block, 1 - parity)


@inner
def _tell(  # noqa: PLR0913, PLR0917 - kernel: arrays of their own
    numbers: Numbers, words: Words, start: Int, lanes: Int, region: Int, told: Told, last: bool
) -> None:
    """What is seen of a block in a region; last: no block of this thread follows."""
    block, shown = numbers[_FIRST_BLOCK], numbers[_SHOWN]
    for at in range(numbers[_FIELDS] - shown):
        row = numbers[shown + at]
        gate_and(words, 0 if row < 0 else 2 * (region + row), 1, block + at)
    for entry in range(numbers[_TURNED], numbers[_END], 3):
        at, mover, row = numbers[entry], numbers[_MOVER] + numbers[entry + 1], numbers[entry + 2]
        blend(words, block + at, 0 if row < 0 else region + row, region + mover)
    for at in range(0, numbers[_FIELDS] - shown, 64):
        transpose_lanes(words, block + at)
    for field in range(numbers[_FIELDS], numbers[_TURNED], 4):
        row, shift = block + (numbers[field] & ~63), numbers[field] & 63
        count, place, stride = numbers[field + 1], numbers[field + 2], numbers[field + 3]
        mask = np.int64(-1) if count == 64 else (np.int64(1) << count) - 1
        if shift + count > 64:
            _join(words, row, shift, block + numbers[_FIELDS] - shown)
            row, shift = block + numbers[_FIELDS] - shown, np.int64(0)
        if numbers[_IS_PACKED]:
            deal(words, row, (lanes, shift, mask, place + start * stride, stride), told.bits)
            continue
        whole = lanes
        if last:  # what comes after may be another thread's
            whole = max(0, lanes - (63 + stride) // stride)
        deal(words, row, (whole, shift, mask, place + start * stride, stride), told.octets)
        for lane in range(whole, lanes):
            flags = words[row + (lane & 63), lane >> 6] >> np.uint64(shift)
            for at in range(count):
                told.octets[place + (start + lane) * stride + at] = (flags >> np.uint64(at)) & np.uint64(1)
    for column in range((lanes + 63) // 64):
        first = numbers[_WHOSE] + start + 64 * column
        mark(_FULL, told.octets, first, 255)
        for role in range(numbers[_ROLES]):
            mark(words[region + numbers[_MOVER] + role, column], told.octets, first, role)


@inner
def _join(words: Words, row: Int, shift: Int, target: Int) -> None:
    """Bits of two transposed blocks as one."""
    for at in range(64):
        for column in range(WORD):
            low, high = words[row + at, column] >> np.uint64(shift), words[row + 64 + at, column]
            words[target + at, column] = low | (high << np.uint64(64 - shift))


@lean
def tell_blocks(plan: EpisodePlan, shard: Shard, which: Int, told: Told) -> None:
    """What is seen of one of the regions; rewards and ends are left."""
    numbers, blocks = plan.numbers, shard.elapsed.shape[1] // LANES
    for block in range(blocks):
        start = LANES * (shard.first + block)
        lanes = min(LANES, numbers[_ENVIRONMENTS] - start)
        region = _first_row(numbers, block) + which * numbers[_SIZE]
        _tell(numbers, shard.words, start, lanes, region, told, block == blocks - 1)
