"""A match from Python: in this process, without HTTP, with bots, functions, classes and external players.

match = Match("tictactoe", {"xplayer": my_function, "oplayer": "mcts"}, playclock=1)
for step in match.steps():
    print(step.moves)
match.record.goals
"""

import asyncio
import inspect
import queue
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from threading import Thread
from typing import Any, TypeAlias

from gamemaster.evaluator import RULES_BYTES, Evaluator, RulesheetSource, find_source, load_rules
from gamemaster.history import Record, Step
from gamemaster.local_bots import Bots, LocalBot
from gamemaster.match import Event, MatchRunner, Stepped, new_match_name
from gamemaster.player import Player, check_names, parse_player
from gamemaster.record import MatchRecord
from gamemaster.referee import check_opening
from gamemaster.settings import MatchSettings
from ggp.errors import SettingsError
from ggp.game import Game, State, load_text
from ggp.gdl.rulesheet import NATURE
from ggp.plugins import parse_plugin
from ggp.protocol.evaluation import Evaluation
from ggp.settings import make_by_name

Playing: TypeAlias = str | Callable[..., object]
"""What plays a role: a bot, a URL or `FILE.py:NAME`, as `ggp match` takes them; or a function or class from here."""
OnStep: TypeAlias = Callable[[Step], object]

_INTERRUPTED = "interrupted"


class Match:
    """One match, which is run once; SettingsError or UnknownGameError for what cannot be played.

    game: the name of a shipped game, the path of a rulesheet, or a `ggp.Game`. players: for each role but `random`, by
    role or in the order of the rulesheet. settings: those of `ggp match`, such as playclock, seed and scramble. A
    function or class thinks in threads of this process: it is not stopped when it hangs, and its C code may hold
    Python's lock; where that matters, it is named by its file.
    """

    def __init__(
        self,
        game: str | Game,
        players: Mapping[str, Playing] | Sequence[Playing],
        *,
        opening: str = "",
        memory: int = 256,
        **settings: Any,  # noqa: ANN401 - judged by their declaration
    ) -> None:
        """opening: moves after which it begins, as in `ggp match`; memory: of each bot that searches, in MiB."""
        self._source = replace(_source(game), opening=check_opening(opening))
        self.game = load_text(self._source.text, self._source.name, "interpreter")
        self.settings = make_by_name(MatchSettings, settings, "a match")
        roles = tuple(role for role in self.game.roles if role != NATURE)
        self.players = _by_role(players, roles)
        self._bots = {role: bot for role, playing in self.players.items() if (bot := _bot_of(playing, memory))}
        self._others = {
            role: _external(role, str(playing)) for role, playing in self.players.items() if role not in self._bots
        }
        bots = [bot.name for bot in self._bots.values()]
        check_names(bots, {f"players[{role!r}]": player.name for role, player in self._others.items()})
        self._record: MatchRecord | None = None
        self._is_begun = False

    @property
    def record(self) -> Record:
        """As far as the match has come; SettingsError before it begins."""
        if self._record is None:
            reason = "its players have not all started" if self._is_begun else "`run()` plays it"
            raise SettingsError(f"the match has not begun; {reason}")
        return Record(self._record)

    def run(self, on_step: OnStep = lambda _: None) -> Record:
        """Plays it to its end; `on_step` is called with each step as it is made. The match ends where that raises."""
        for step in self.steps():
            on_step(step)
        return self.record

    def steps(self) -> Iterator[Step]:
        """The same as an iterator. The match does not wait for who reads it, and ends as aborted when that is left."""
        if self._is_begun:
            raise SettingsError("a match is run once; make another one to play it again")
        self._is_begun = True
        running = _Running(self._played)
        try:
            yield from running.steps()
        finally:
            running.end()

    def _repr_html_(self) -> str:
        """In a notebook: the record with buttons."""
        return "<p>The match has not begun.</p>" if self._record is None else self.record.html()

    async def _played(self, runner_made: Callable[[MatchRunner], None], tell: Callable[[Step], None]) -> None:
        previous: list[State] = []

        def keep(record: MatchRecord) -> None:
            self._record = record

        def listen(event: Event) -> None:
            state = getattr(event, "state", None)
            if isinstance(event, Stepped) and state is not None and previous:
                tell(_step(event.record, previous[-1], State(self.game, state)))
            if state is not None:
                previous[:] = [State(self.game, state)]

        async with AsyncExitStack() as stack:
            evaluator = Evaluator(RULES_BYTES)
            stack.push_async_callback(evaluator.close)
            rules = await load_rules(evaluator, self._source)
            rules.wants_states = True
            bots = Bots()
            stack.callback(bots.close)
            players = await stack.enter_async_context(bots.playing(self._bots, self.settings.seed, waits=True))
            name = new_match_name(self._source.name)
            runner = MatchRunner(rules, {**players, **self._others}, self.settings, name, keep, listen)
            runner_made(runner)
            await runner.run()
            await asyncio.sleep(0)  # for transports, which the loop closes


class _Running:
    """A match in a thread with an event loop of its own: the caller, such as a notebook, may have another one."""

    def __init__(self, play: Callable[..., Any]) -> None:
        self._news: queue.SimpleQueue[Step | BaseException | None] = queue.SimpleQueue()  # None: it is over
        self._loop: asyncio.AbstractEventLoop | None = None
        self._runner: MatchRunner | None = None
        self._is_over = False
        self._play = play
        self._thread = Thread(target=self._run, name="match", daemon=True)
        self._thread.start()

    def steps(self) -> Iterator[Step]:
        """Raises what the match has raised."""
        while (news := self._news.get()) is not None:
            if isinstance(news, BaseException):
                raise news
            yield news

    def end(self) -> None:
        """Gives the match up unless it is over, and waits until its processes have ended."""
        self._is_over = True
        if self._runner is not None and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._runner.give_up, _INTERRUPTED)
        self._thread.join()

    def _run(self) -> None:
        try:
            asyncio.run(self._played())
        except BaseException as error:  # noqa: BLE001 - it is raised where the steps are read
            self._news.put(error)
        self._news.put(None)

    async def _played(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self._play(self._made, self._news.put)

    def _made(self, runner: MatchRunner) -> None:
        self._runner = runner
        if self._is_over:  # before it began
            asyncio.get_running_loop().call_soon(runner.give_up, _INTERRUPTED)


def _source(game: str | Game) -> RulesheetSource:
    if isinstance(game, Game):
        return RulesheetSource(game.name, game.rulesheet.text, game.metadata.drawing, place=game.name)
    return find_source(str(game))


def _by_role(players: Mapping[str, Playing] | Sequence[Playing], roles: tuple[str, ...]) -> dict[str, Playing]:
    wanted = f"{len(roles)} players ({', '.join(roles)})"
    if not isinstance(players, Mapping):
        is_list = isinstance(players, Sequence) and not isinstance(players, str)
        if not is_list or len(players) != len(roles):
            given = len(players) if is_list else "a text" if isinstance(players, str) else repr(players)
            raise SettingsError(f"the game takes {wanted}, not {given}")
        return dict(zip(roles, players, strict=True))
    if set(players) != set(roles):
        raise SettingsError(f"the game takes {wanted}, not those of {', '.join(players) or 'no role'}")
    return {role: players[role] for role in roles}


def _bot_of(playing: Playing, memory: int) -> LocalBot | None:
    """None for an external player."""
    if isinstance(playing, str):
        address = parse_player(playing)
        return LocalBot(address.place, address.name, memory=memory) if address.is_bot else None
    if not callable(playing):
        raise SettingsError(f"a player is a text, a function or a class, not {playing!r}")
    name = getattr(playing, "__name__", type(playing).__name__)
    strategy = f"{_home(playing)}:{name}"
    label = strategy if parse_plugin(strategy) is not None else "python.code:strategy"
    return LocalBot(label, name, label=name, made=playing, memory=memory)


def _home(made: object) -> str:
    """The file that a function or class is from; a stand-in where that is none, as in a notebook."""
    try:
        file = inspect.getsourcefile(made) or ""  # type: ignore[arg-type]
    except TypeError:
        file = ""
    return file if file.endswith(".py") else "python.code"


def _external(role: str, text: str) -> Player:
    address = parse_player(text)
    return Player(role, address.name, address.place, dialect=address.dialect)


def _step(record: MatchRecord, before: State, after: State) -> Step:
    made = record.steps[-1]
    moves = dict(zip(record.roles, made.moves, strict=True))
    evaluations: Mapping[str, Evaluation] = made.evaluations
    return Step(len(record.steps) - 1, before, moves, after, made.seconds, made.faults, evaluations)
