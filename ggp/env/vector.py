"""Many environments of one game, stepped at once on the lanes: moves as integers in, arrays out."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import prod
from pathlib import Path
from threading import Thread
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from annotated_types import Ge, Lt
from numpy.typing import ArrayLike, NDArray

from ggp.boards import Layout, find_layout
from ggp.cache import default_cache
from ggp.circuit.compile import CompiledGame, compile_game
from ggp.env.layouts import ArrayLayout, Perspective, find_renaming, lay_out_facts, lay_out_mask, lay_out_planes
from ggp.errors import IllegalActionError, SettingsError, did_you_mean
from ggp.game import Game, State, check_playable, load
from ggp.gdl.terms import to_text
from ggp.kernel import LANES, WORD, MachineCode
from ggp.settings import About, Settings, declared, make
from ggp.simulation.environment import EnvironmentProgram, make_environment_program
from ggp.simulation.environment_kernels import (
    ADDRESS,
    AFTER,
    BEFORE,
    DISABLED,
    FINAL,
    NEXT_STEP,
    ONLY,
    SAME_STEP,
    EpisodeLimits,
    EpisodePlan,
    Shard,
    Told,
    View,
    begin_arrays,
    find_places,
    make_plan,
    make_shard,
    region_words,
    seed_shard,
    step_arrays,
    tell_blocks,
)
from ggp.simulation.evaluate import Bits, pack, unpack
from ggp.simulation.machine_code import compile_programs, is_small, make_in_background
from ggp.simulation.state_machine import CircuitMachine


@dataclass(frozen=True, slots=True)
class EnvironmentSettings(Settings):
    """How environments observe, end and begin anew; docs/environments.md says what the choices mean."""

    layout: Annotated[Literal["bits", "bytes", "planes"], About("layout of observations and masks")] = "bytes"
    perspective: Annotated[
        Literal["fixed", "mover"],
        About("whose view observations have: the same whichever role moves, or that of the role that is to move"),
    ] = "fixed"
    autoreset: Annotated[
        Literal["next_step", "same_step", "disabled"],
        About("when an environment that has ended begins anew, as Gymnasium's AutoresetMode"),
    ] = "next_step"
    reward_range: Annotated[
        tuple[float, float],
        About("rewards for the goal values 0 and 100; those between in proportion", default="(-1, 1)"),
    ] = (-1.0, 1.0)
    max_steps: Annotated[
        int, Ge(0), Lt(1 << 31), About("an environment is truncated after so many steps; 0: never")
    ] = 0
    chance: Annotated[
        Literal["inside", "explicit"],
        About("whether moves of the role `random` are drawn, or given as those of other roles"),
    ] = "inside"
    illegal: Annotated[
        Literal["raise", "first", "random"], About("what replaces an illegal move: nothing (an error), or a legal move")
    ] = "raise"
    copy: Annotated[
        bool, About("new arrays at each step; otherwise an array is written again at the step after the next")
    ] = True
    threads: Annotated[int, Ge(1), About("threads that share the environments")] = 1


def make_settings(given: dict[str, Any]) -> EnvironmentSettings:
    """Settings by name; SettingsError for one that is unknown or out of range."""
    names = [setting.name for setting in declared(EnvironmentSettings)]
    for name in given:
        if name not in names:
            raise SettingsError(f"environments have no setting {name}{did_you_mean(name, names)}")
    return make(EnvironmentSettings, given)


SIMULTANEOUS = -1  # the mover where several roles have a choice, where the match is over, or where that is a secret
COMPILE_AFTER = 64  # steps; environments that are stepped less often run the interpreted program
_MODES = {"next_step": NEXT_STEP, "same_step": SAME_STEP, "disabled": DISABLED}
_FUNCTION = "environment"
_TRIALS, _TRIAL_STEPS = 64, 200  # random matches that show whether roles choose at once


class StepResult(NamedTuple):
    """What environments tell after a step or a reset; n environments, R roles whose moves are given."""

    observation: NDArray[Any]  # (n, *shape) as `observation_layout` says
    mask: NDArray[Any]  # (n, R, ·) which moves are legal, as `mask_layout` says; none where the match is over
    reward: NDArray[np.float32]  # (n, R) 0 until the match is over
    terminated: NDArray[np.bool_]  # (n,) whether this step led to a terminal state
    truncated: NDArray[np.bool_]  # (n,) whether it was the last for another reason: max_steps, or no legal move
    mover: NDArray[np.int8]  # (n,) the only role that has a choice, the first one if none has; else SIMULTANEOUS


class VectorEnvironment:
    """n environments of one game; not for several threads at once. Made by `make_vec`."""

    def __init__(self, game: Game, num_envs: int, seed: int, settings: EnvironmentSettings) -> None:
        if not isinstance(num_envs, int | np.integer) or isinstance(num_envs, bool) or not 1 <= num_envs <= 1 << 26:
            raise SettingsError(f"num_envs is an integer from 1 to {1 << 26:,}, not {num_envs!r}")
        self.game, self.num_envs, self.settings = game, num_envs, settings
        self._machine = _circuit(game)
        self.compiled: CompiledGame = self._machine.compiled
        self.program = program = _program(self._machine, settings)
        if program.initial[program.region.ended]:
            check_playable(game.initial_state)
            raise SettingsError(f"{game.name}: the match is over when it begins")
        self.roles: tuple[str, ...] = tuple(self.compiled.roles[role] for role in program.given)
        self.moves: tuple[tuple[str, ...], ...] = tuple(
            tuple(map(to_text, self.compiled.moves[role])) for role in program.given
        )
        packed = settings.layout == "bits"
        self.mask_layout = lay_out_mask(self.compiled, program.region, program.given, packed=packed)
        self.observation_layout = self._observation_layout(packed=packed)
        limits = EpisodeLimits(_MODES[settings.autoreset], settings.max_steps, num_envs)
        seen, mask = self.observation_layout, self.mask_layout
        view = View((seen.rows, mask.rows), (seen.words, mask.words), seen.turned)
        self._places = find_places(view, num_envs)
        self._plan = make_plan(program, limits, _rewards(self.compiled, settings), view)
        self._shards = _make_shards(self._plan, program, num_envs, settings.threads)
        self._shape = num_envs, len(self.roles)
        self._everywhere = np.full((sum(shard.blocks for shard in self._shards), WORD), 0xFFFFFFFFFFFFFFFF, np.uint64)
        self._seen, self._masked = prod(seen.shape), prod(mask.shape)
        self._pool = ThreadPoolExecutor(len(self._shards)) if len(self._shards) > 1 else None
        self._buffers = [self._make_buffers() for _ in range(0 if settings.copy else 2)]
        self._compiler: Thread | None = None
        self._code: MachineCode | None = None  # keeps the functions in memory
        self._parity, self.steps = BEFORE, 0
        self._random: np.random.Generator | None = None
        self._seed = seed
        self.reset(seed=seed)

    def reset(self, seed: int | None = None, mask: NDArray[np.bool_] | None = None) -> StepResult:
        """Let all matches begin anew, or those of a mask (n,); a seed sets all streams of random numbers.

        SettingsError for a mask of another shape, and a seed that is no integer from 0 on.
        """
        if mask is not None and np.shape(mask) != (self.num_envs,):
            raise SettingsError(f"a mask has the shape ({self.num_envs},), not {np.shape(mask)}")
        if seed is not None:
            if not isinstance(seed, int | np.integer) or seed < 0:
                raise SettingsError(f"a seed is an integer from 0 on, not {seed!r}")
            self._random = None
            self._seed = seed
            for shard in self._shards if self.program.random else ():
                seed_shard(self._plan, shard, self._parity, seed)
        words = self._everywhere if mask is None else self._lanes(mask)
        told, step = self._arrays()
        step.reward.fill(0)
        step.terminated.fill(False)
        step.truncated.fill(False)
        plan = self._plan
        for shard in self._shards:
            begin_arrays(
                plan.numbers, plan.code, plan.worth, shard.words, shard.elapsed, shard.first, told.octets, told.bits,
                told.reward, self._parity, words[shard.first : shard.first + shard.blocks],
            )  # fmt: skip
        self._buffers.reverse()
        return step

    def step(self, moves: ArrayLike) -> StepResult:
        """Do a step in all environments.

        moves: (n, R) the number of each role's move among `moves`, or ONLY (-1) for a role whose turn it is not; or
        (n,) the mover's moves, where one role at a time has a choice. Those of an environment that begins anew in this
        step are ignored. IllegalActionError, and nothing has changed, for a number that is no legal move.
        """
        given = self._given(moves)
        told, step = self._arrays()
        if not self._run(given, told):
            if given.shape[1] < len(self.roles):
                given = self.joint_moves(given[:, 0])
            if self.settings.illegal == "raise":
                raise self._error(given)
            given = self._replaced(given)
            if not self._run(given, told):
                raise self._error(given)
        self._buffers.reverse()
        self._parity = AFTER - self._parity
        self.steps += 1
        if self.steps == COMPILE_AFTER:
            self._compile_in_background()
        return step

    def final_observation(self) -> NDArray[Any]:
        """(n, *shape) the last observation of each match that ended in this step, with autoreset `same_step`.

        It has a meaning only where `terminated` or `truncated` is set. The array is a new one, also without `copy`.
        """
        told, step = self._make_buffers()
        for shard in self._shards:
            tell_blocks(self._plan, shard, FINAL, told)
        return step.observation

    @cached_property
    def has_simultaneous_moves(self) -> bool:
        """Whether several roles may choose at once: as far as random matches show, or where that is a secret."""
        if len(self.roles) == 1:
            return False
        if self.compiled.has_percepts:
            return True
        trial = VectorEnvironment(
            self.game,
            _TRIALS,
            0,
            replace(self.settings, layout="bytes", perspective="fixed", threads=1, autoreset="next_step"),
        )
        random, step, ended = np.random.default_rng(0), trial.reset(), np.zeros(_TRIALS, np.bool_)
        for _ in range(_TRIAL_STEPS):
            if (trial._turns().sum(axis=1) > 1).any():
                return True
            ended |= step.terminated | step.truncated
            if ended.all():
                break
            step = trial.step(trial.random_moves(random, step))
        return False

    def states(self) -> Bits:
        """(n, words) the facts of each state as bits, in the order of `compiled.facts`; also what roles do not see."""
        parts = [region_words(self._plan, shard, self._parity, self.program.region.facts) for shard in self._shards]
        return pack(np.concatenate(parts)[: self.num_envs])

    def state(self, environment: int) -> State:
        """The state of one environment, as `ggp.load` gives it; also what roles do not see."""
        return State(self.game, self._machine.unpacked(self.states()[environment : environment + 1]))

    def joint_moves(self, moves: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """(n, R) the movers' moves (n,), and ONLY for all others; SettingsError where several roles choose at once."""
        turns = self._turns().sum(axis=1)
        if self.compiled.has_percepts or (turns > 1).any():
            raise SettingsError(f"several roles choose at once: give moves of shape (n, {len(self.roles)})")
        joint = np.full((self.num_envs, len(self.roles)), ONLY, np.int64)
        joint[np.arange(self.num_envs), np.maximum(self._mover(), 0)] = moves
        return joint

    def random_moves(self, random: np.random.Generator, step: StepResult) -> NDArray[np.int64]:
        """(n, R) a random legal move of each role, 0 where it has none."""
        mask = self.unpack_mask(step.mask)
        weights = 1 - random.random(mask.shape, np.float32)  # above 0: one that is 0 would count as illegal
        chosen: NDArray[np.int64] = np.argmax(weights * mask, axis=-1)
        return chosen

    def unpack_mask(self, mask: NDArray[Any]) -> NDArray[np.bool_]:
        """(n, R, moves) one byte for each move, from either layout."""
        most = max(map(len, self.moves))
        if mask.dtype == np.bool_:
            return mask
        return unpack(mask.reshape(-1, mask.shape[-1]), most).reshape(*mask.shape[:-1], most)

    def compile(self) -> None:
        """Make the machine code of the step now, in this thread; by itself it is made after COMPILE_AFTER steps."""
        if self._compiler is not None:
            self._compiler.join()
        elif is_small({_FUNCTION: self.program.step}) and self._code is None:
            self._use(self._make_code())

    def close(self) -> None:
        """End threads; environments that are not closed end them with the program. Later steps go on without them."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
        if self._compiler is not None:
            self._compiler.join()

    @cached_property
    def board_layout(self) -> Layout:
        return find_layout(self.game.rulesheet, self.game.machine, self.game.metadata.drawing)

    def _observation_layout(self, *, packed: bool) -> ArrayLayout:
        compiled, region = self.compiled, self.program.region
        is_mover = self.settings.perspective == "mover"
        renaming = find_renaming(self.game.rulesheet, compiled.roles) if is_mover else None
        perspective = Perspective(compiled, self.program.given, renaming)
        if self.settings.layout == "planes":
            return lay_out_planes(region, perspective, self.board_layout)
        return lay_out_facts(region, perspective, packed=packed)

    def _make_buffers(self) -> tuple[Told, StepResult]:
        """Arrays to write, and the same as they are given out."""
        count, places = self.num_envs, self._places
        octets, bits = np.empty(places.octets, np.uint8), np.empty(places.bits, np.uint64)
        reward = np.empty((count, len(self.roles)), np.float32)
        flags = octets.view(np.bool_)
        shown = bits if self.settings.layout == "bits" else flags
        step = StepResult(
            shown[places.observation :][: count * self._seen].reshape(count, *self.observation_layout.shape),
            shown[places.mask :][: count * self._masked].reshape(count, *self.mask_layout.shape),
            reward,
            flags[places.terminated :][:count],
            flags[places.truncated :][:count],
            octets[places.mover :][:count].view(np.int8),
        )
        return Told(octets, bits, reward), step

    def _arrays(self) -> tuple[Told, StepResult]:
        """To be filled; without copies those of the step before the last."""
        return self._make_buffers() if self.settings.copy else self._buffers[0]

    def _given(self, moves: ArrayLike) -> NDArray[np.integer[Any]]:
        given = np.asarray(moves)
        if given.shape == self._shape and given.dtype == np.int64 and given.flags.c_contiguous:
            return given
        shape = self._shape
        if given.shape not in (shape, shape[:1]) or given.dtype.kind not in "iu":
            raise SettingsError(
                f"moves are integers of shape {shape} or {shape[:1]}, not {given.dtype} of shape {given.shape}"
            )
        if given.dtype not in (np.int32, np.int64):
            most = min(np.iinfo(given.dtype).max, np.iinfo(np.int64).max)
            given = np.minimum(given, given.dtype.type(most)).astype(np.int64)
        return np.ascontiguousarray(given).reshape(self.num_envs, -1)

    def _run(self, moves: NDArray[np.integer[Any]], told: Told) -> bool:
        """Whether all could do their moves."""
        if len(self._shards) == 1:
            return self._run_shard(self._shards[0], moves, told)
        each: Any = map if self._pool is None else self._pool.map
        return all(list(each(lambda shard: self._run_shard(shard, moves, told), self._shards)))

    def _run_shard(self, shard: Shard, moves: NDArray[np.integer[Any]], told: Told) -> bool:
        plan = self._plan
        return step_arrays(
            plan.numbers, plan.code, plan.worth, shard.words, shard.elapsed, shard.first, told.octets, told.bits,
            told.reward, self._parity, moves,
        )  # fmt: skip

    def _lanes(self, mask: NDArray[np.bool_]) -> NDArray[np.uint64]:
        """(blocks, 8) the environments of a mask (n,)."""
        flags = np.zeros(LANES * len(self._everywhere), np.bool_)
        flags[: self.num_envs] = mask
        return np.packbits(flags, bitorder="little").view("<u8").astype(np.uint64).reshape(-1, WORD)

    def _rows_now(self, first: int, count: int) -> NDArray[np.bool_]:
        parts = [region_words(self._plan, shard, self._parity, count, first) for shard in self._shards]
        return np.concatenate(parts)[: self.num_envs]

    def _begins_anew(self) -> NDArray[np.bool_]:
        """(n,) whether the next step only lets the match begin."""
        ended: NDArray[np.bool_] = self._rows_now(self.program.region.ended, 1)[:, 0]
        return ended & (self.settings.autoreset == "next_step")

    def _mover(self) -> NDArray[np.int8]:
        flags = self._rows_now(self.program.region.mover, len(self.roles))
        return np.where(flags.any(axis=1), flags.argmax(axis=1), SIMULTANEOUS).astype(np.int8)

    def _turns(self) -> NDArray[np.bool_]:
        """(n, R) which roles have a choice."""
        return self._rows_now(self.program.region.turn, len(self.compiled.roles))[:, list(self.program.given)]

    def _legal(self) -> list[NDArray[np.bool_]]:
        """For each given role (n, its moves)."""
        first, region = self.program.first_move, self.program.region
        flags = self._rows_now(region.legal, int(first[-1]))
        return [flags[:, first[role] : first[role + 1]] for role in self.program.given]

    def _wrong(self, moves: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
        """(n, R) which numbers are no legal move."""
        turn = self._turns()
        wrong = np.zeros(moves.shape, np.bool_)
        for at, legal in enumerate(self._legal()):
            number = moves[:, at]
            inside = (number >= 0) & (number < legal.shape[1])
            known = inside & legal[np.arange(len(moves)), np.where(inside, number, 0)]
            wrong[:, at] = ~known & ~((number == ONLY) & ~turn[:, at] & legal.any(axis=1))
        return wrong & ~self._begins_anew()[:, np.newaxis]

    def _error(self, moves: NDArray[np.integer[Any]]) -> IllegalActionError:
        """For the first number that is no legal move."""
        environment, at = map(int, np.argwhere(self._wrong(moves))[0])
        return self.illegal_action(environment, at, int(moves[environment, at]))

    def illegal_action(self, environment: int, at: int, number: int) -> IllegalActionError:
        """Why a number is no legal move of role `at` now."""
        names = self.moves[at]
        if self._rows_now(self.program.region.ended, 1)[environment, 0]:
            reason = "the match is over; reset it"
        elif number == ONLY:
            reason = "it has the turn, and must choose"
        elif not 0 <= number < len(names):
            reason = f"its moves are numbered from 0 to {len(names) - 1}"
        else:
            legal = [name for name, flag in zip(names, self._legal()[at][environment], strict=True) if flag]
            shown = ", ".join(legal[:3]) + (" …" if len(legal) > 3 else "")
            reason = f"{names[number]} is not among {shown}"
        return IllegalActionError(environment, self.roles[at], number, reason)

    def _replaced(self, moves: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """The moves with a legal one in place of each that is not."""
        wrong, found = self._wrong(moves), moves.astype(np.int64)
        for at, legal in enumerate(self._legal()):
            rows = np.flatnonzero(wrong[:, at])
            chosen = legal[rows]
            if self.settings.illegal == "random":
                self._random = self._random or np.random.default_rng(self._seed)
                found[rows, at] = np.argmax(self._random.random(chosen.shape) * chosen, axis=1)
            else:
                found[rows, at] = np.argmax(chosen, axis=1)
        return found

    def _compile_in_background(self) -> None:
        if self._code is None and is_small({_FUNCTION: self.program.step}):
            self._compiler = make_in_background(self._make_code, self._use)

    def _make_code(self) -> MachineCode:
        program = self.program
        return compile_programs({_FUNCTION: program.step}, program.region.size, f"{program.region}", default_cache())

    def _use(self, code: MachineCode) -> None:
        self._code = code
        self._plan.numbers[ADDRESS] = code.addresses[_FUNCTION]


def make_vec(
    game: str | Path | Game, num_envs: int, seed: int = 0, **settings: Any  # noqa: ANN401 - of EnvironmentSettings
) -> VectorEnvironment:  # fmt: skip
    """Environments of a shipped game by its name, of a rulesheet by its path, or of a game.

    settings: the fields of `EnvironmentSettings` by name. The same seed gives the same run, whatever the number of
    threads. GroundingError where the rules cannot be compiled to a circuit; EvaluationError where a
    role has no legal move in the initial state; SettingsError for a wrong setting, and for a match that is over then.
    """
    found = game if isinstance(game, Game) else load(game, "circuit")
    return VectorEnvironment(found, num_envs, seed, make_settings(settings))


def _circuit(game: Game) -> CircuitMachine:
    if isinstance(game.machine, CircuitMachine):
        return game.machine
    return CircuitMachine(game.rulesheet, compile_game(game.rulesheet))


def _program(machine: CircuitMachine, settings: EnvironmentSettings) -> EnvironmentProgram:
    return make_environment_program(machine.compiled, explicit_chance=settings.chance == "explicit")


def _rewards(compiled: CompiledGame, settings: EnvironmentSettings) -> NDArray[np.float32]:
    """What each goal value of all roles counts, and last what counts where there is none, or several."""
    lowest, highest = settings.reward_range
    values = [value for goals in compiled.goals for value in goals]
    return np.array([lowest + (highest - lowest) * value / 100 for value in [*values, 50]], np.float32)


def _make_shards(plan: EpisodePlan, program: EnvironmentProgram, num_envs: int, threads: int) -> list[Shard]:
    blocks = -(-num_envs // LANES)
    cuts = np.linspace(0, blocks, min(threads, blocks) + 1).astype(int).tolist()
    return [make_shard(plan, program.initial, first, last - first) for first, last in pairwise(cuts)]
