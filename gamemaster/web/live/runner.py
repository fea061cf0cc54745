"""The matches that are played here: orders in, matches that run at the same time, each with a process for its rules."""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from gamemaster.bots import Bot as Process
from gamemaster.bots import all_players, start_bot, stop_all
from gamemaster.match import MatchRunner, new_match_name
from gamemaster.player import Player, parse_player
from gamemaster.record import Keep
from gamemaster.settings import derived, make_settings
from gamemaster.web.evaluators.pool import Evaluator, Pool, Source
from gamemaster.web.live.human import HumanPlayer
from gamemaster.web.live.match import LiveMatch, MatchOrder
from gamemaster.web.models import Bot, External, Human, NewPlayer
from gamemaster.web.problems import Problem, busy, refused
from gamemaster.web.settings import ServeSettings
from ggp.errors import GgpError, SettingsError, UnknownRoleError
from ggp.game import Game
from ggp.gdl.rulesheet import parse_rulesheet
from ggp.gdl.state_machine import Facts, JointMove
from ggp.gdl.terms import Term
from ggp.library import Metadata

MakeKeep: TypeAlias = Callable[[str], Keep]  # the name of a match → what is done with its record; may block
log = logging.getLogger(__name__)
_GRACE = 1.0
_MEMORY = 256  # MiB of a bot that searches
_REMEMBERED = 4  # states


class LiveMatches:
    """All matches that are played here now, and some that are over; used in the event loop."""

    def __init__(self, settings: ServeSettings, pool: Pool, make_keep: MakeKeep) -> None:
        self._settings = settings
        self._pool = pool
        self._make_keep = make_keep
        self._matches: dict[str, LiveMatch] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._runners: dict[str, MatchRunner] = {}
        self._humans: dict[str, tuple[LiveMatch, HumanPlayer]] = {}
        self.on_change: Callable[[], None] = lambda: None  # told when a match begins or ends

    def get(self, match: str) -> LiveMatch | None:
        return self._matches.get(match)

    def all(self) -> list[LiveMatch]:
        """The one that was ordered last first."""
        return list(reversed(self._matches.values()))

    def human(self, link: str) -> tuple[LiveMatch, HumanPlayer] | None:
        """The human that a secret link leads to, and its match."""
        return self._humans.get(link)

    def check_players(self, roles: tuple[str, ...], players: Mapping[str, NewPlayer]) -> None:
        """A Problem where not every role has its player, or one that nobody may name."""
        if set(players) != set(roles):
            raise refused(f"the players must be those of {', '.join(roles)}, not of {', '.join(players) or 'nobody'}")
        for player in players.values():
            if not isinstance(player, Human | Bot):
                self._check_url(player.url)

    def begin(self, order: MatchOrder) -> LiveMatch:
        """The match, which is about to begin; a Problem when too many are being played."""
        if len(self._tasks) >= self._settings.limits.matches:
            raise busy(f"{len(self._tasks)} matches are being played, as many as may be; try again later", 10.0)
        live = LiveMatch(new_match_name(order.source.name), order, self._pool, self._settings.limits.state_seconds)
        self._matches[live.id] = live
        self._humans |= {human.link: (live, human) for human in live.humans.values()}
        task = self._tasks[live.id] = asyncio.get_running_loop().create_task(self._play(live))
        task.add_done_callback(lambda done: self._done(live, done))
        self._forget()
        self.on_change()
        return live

    def receive(self, live: LiveMatch, human: HumanPlayer) -> None:
        """A match that another game master runs, with a human here."""
        self._matches[live.id] = live
        self._humans[human.link] = (live, human)
        self._forget()

    async def end(self, live: LiveMatch, reason: str, resigned: str | None = None) -> None:
        """Gives a match up, and waits until that is done; `resigned` is the role whose player wanted that."""
        if live.leave is not None:
            await live.leave(reason)
        task = self._tasks.get(live.id)
        if task is not None:
            self._give_up(live, reason, resigned)
            await asyncio.wait([task])

    async def close(self) -> None:
        """Gives all matches up."""
        tasks = list(self._tasks.values())
        for match in self._tasks:
            self._give_up(self._matches[match], "the service was stopped")
        if tasks:
            await asyncio.wait(tasks)

    def _give_up(self, live: LiveMatch, reason: str, resigned: str | None = None) -> None:
        """The runner ends the record; before there is one, and when the record is complete, the task just ends."""
        runner = self._runners.get(live.id)
        if runner is not None and not live.has_ended:
            runner.give_up(reason, resigned)
        else:
            live.ending = live.ending or reason
            self._tasks[live.id].cancel()

    def _done(self, live: LiveMatch, task: asyncio.Task[None]) -> None:
        self._tasks.pop(live.id, None)
        self._runners.pop(live.id, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("match %s", live.id, exc_info=error)
        self.on_change()

    def _forget(self) -> None:
        """Keeps as many matches that are over as may be kept; their records are elsewhere."""
        over = [live for live in self._matches.values() if live.is_over and live.id not in self._tasks]
        for live in over[: max(0, len(over) - self._settings.limits.kept)]:
            del self._matches[live.id]
            for human in live.humans.values():
                del self._humans[human.link]

    async def _play(self, live: LiveMatch) -> None:
        drawing = asyncio.get_running_loop().create_task(live.draw())
        failure = "it could not be played"
        try:
            await self._run(live)
            failure = ""
        except asyncio.CancelledError:
            failure = "" if live.record is not None else live.ending
        except (GgpError, Problem) as error:
            failure = str(error)
        finally:
            live.finish(failure)
            for human in live.humans.values():
                human.withdraw()
            await asyncio.wait([drawing], timeout=self._settings.limits.state_seconds)
            drawing.cancel()
            live.close()

    async def _run(self, live: LiveMatch) -> None:
        order, limits = live.order, self._settings.limits
        keep = await asyncio.to_thread(self._make_keep, live.id)
        evaluator = Evaluator(limits.memory_bytes)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(evaluator.close)
            game = await remote_game(evaluator, order.source, limits.check_seconds)
            settings = make_settings(
                startclock=order.startclock,
                playclock=order.playclock,
                grace=_GRACE,
                seed=order.seed,
                max_steps=limits.steps,
            )
            others = await stack.enter_async_context(_started_players(order, settings.seed))
            humans = {role: Player(role, one.name, is_human=True, local=one) for role, one in live.humans.items()}
            players = {role: player for role in game.roles if (player := humans.get(role) or others.get(role))}
            runner = self._runners[live.id] = MatchRunner(game, players, settings, live.id, keep, live.watch)
            await runner.run()

    def _check_url(self, url: str) -> None:
        try:
            place = parse_player(url)
        except GgpError as error:
            raise refused(str(error)) from None
        parts = urlsplit(place.place)
        allowed = self._settings.allowed_players
        if place.is_bot or not {parts.hostname or "", parts.netloc} & allowed:
            raise Problem(403, "the operator of this service has not allowed players at that address")


def new_seed() -> int:
    return secrets.randbits(32)


@asynccontextmanager
async def _started_players(order: MatchOrder, seed: int) -> AsyncIterator[dict[str, Player]]:
    """Role → player, all but the humans, with the bots listening; they are stopped however the block ends.

    SettingsError when one does not start. Bots that play against humans do not ponder: a human may take long.
    """
    processes: list[Process] = []
    settings = {"memory": _MEMORY, "ponder": not order.has_humans}
    try:
        players = await all_players(
            {
                role: _player(role, player, derived(seed, "bot", role), settings, processes)
                for role, player in order.players.items()
                if isinstance(player, Bot | External)
            }
        )
        clocks = _bot_clocks(order)
        yield {
            role: player if player.bot is None else replace(player, clocks=clocks) for role, player in players.items()
        }
    finally:
        await stop_all(processes)


async def _player(
    role: str, player: Bot | External, seed: int, settings: Mapping[str, object], processes: list[Process]
) -> Player | SettingsError:
    if isinstance(player, External):
        place = parse_player(player.url)
        return Player(role, player.name, place.place, dialect=place.dialect)
    try:
        process = await start_bot(player.bot, seed, settings)
    except SettingsError as error:
        return error
    processes.append(process)
    return Player(role, player.name or player.bot, process.url, player.bot, seed)


def _bot_clocks(order: MatchOrder) -> tuple[int, int] | None:
    """Shorter clocks that bots are told, so that humans need not wait for them; None for those of the match."""
    if order.think is None or not order.has_humans or order.think >= order.playclock:
        return None
    return min(order.startclock, order.think), order.think


class RemoteMachine:
    """As `ggp.gdl.state_machine.StateMachine`; called from threads other than that of the event loop.

    EvaluationError also for a state that takes too long.
    """

    def __init__(self, evaluator: Evaluator, source: Source, loaded: Mapping[str, Any], seconds: float) -> None:
        """`loaded` is the answer to loading the game; made in the event loop that asks the evaluator."""
        self._evaluator = evaluator
        self._source = source
        self._loop = asyncio.get_running_loop()
        self._seconds = seconds
        self._roles: tuple[str, ...] = tuple(loaded["roles"])
        self._engine: str = loaded["engine"]
        self._situations: dict[Facts, Mapping[str, Any]] = {}
        self._initial: Facts | None = None

    @property
    def engine(self) -> str:
        return self._engine

    @property
    def roles(self) -> tuple[str, ...]:
        return self._roles

    @property
    def initial_state(self) -> Facts:
        if self._initial is None:
            self._initial = self._remember(self._ask({"do": "situation", "state": None}))
        return self._initial

    def legal_moves(self, state: Facts, role: str) -> tuple[Term, ...]:
        situation = self._situation(state)
        self._check(role)
        return tuple(map(_term, situation["legal"][role])) if "legal" in situation else ()

    def next_state(self, state: Facts, joint_move: JointMove) -> Facts:
        return self._remember(self._ask({"do": "next", "state": list(state), "moves": joint_move}))

    def is_terminal(self, state: Facts) -> bool:
        return bool(self._situation(state)["terminal"])

    def goal_values(self, state: Facts, role: str) -> tuple[int, ...]:
        self._check(role)
        situation = self._situation(state)
        if "goals" not in situation:
            situation = self._ask({"do": "goals", "state": list(state)})
        return tuple(situation["goals"][role])

    def goal(self, state: Facts, role: str) -> int | None:
        values = self.goal_values(state, role)
        return values[0] if len(values) == 1 else None

    def percepts(self, state: Facts, joint_move: JointMove, role: str) -> tuple[Term, ...]:
        self._check(role)
        answer = self._ask({"do": "percepts", "state": list(state), "moves": joint_move, "role": role})
        return tuple(map(_term, answer))

    def _situation(self, state: Facts) -> Mapping[str, Any]:
        if state not in self._situations:
            self._remember(self._ask({"do": "situation", "state": list(state)}))
        return self._situations[state]

    def _remember(self, situation: Mapping[str, Any]) -> Facts:
        state = frozenset(map(_term, situation["state"]))
        self._situations[state] = situation
        while len(self._situations) > _REMEMBERED:
            self._situations.pop(next(iter(self._situations)))
        return state

    def _check(self, role: str) -> None:
        if role not in self._roles:
            raise UnknownRoleError(f"no role is called {role!r}; the roles are {', '.join(self._roles)}")

    def _ask(self, request: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON
        asked = self._evaluator.ask(self._source, request, self._seconds)
        return asyncio.run_coroutine_threadsafe(asked, self._loop).result()


async def remote_game(evaluator: Evaluator, source: Source, seconds: float) -> Game:
    """The game, evaluated by a process that is its own; GgpError when it cannot be loaded."""
    loaded = await evaluator.ask(None, {"do": "load", **source.as_request()}, seconds)
    evaluator.known.add(source.key)
    rulesheet = await asyncio.to_thread(parse_rulesheet, source.text, source.name)
    machine = RemoteMachine(evaluator, source, loaded, seconds)
    return Game(source.name, rulesheet, machine, Metadata(drawing=dict(source.drawing)), loaded["fallback"])


def _term(value: Any) -> Term:  # noqa: ANN401 - a string, or a list of the same
    return value if isinstance(value, str) else tuple(map(_term, value))
