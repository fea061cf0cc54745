"""A tournament from Python, in a few lines; all that there is to say is in a specification (`spec_files`)."""

import asyncio
import logging
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any, TypeAlias

from gamemaster.history import Record, as_arrow, as_pandas
from gamemaster.tournament.exporting import report
from gamemaster.tournament.pairings import MatchResult
from gamemaster.tournament.runner import MatchFinished, News, Notice, run_tournament
from gamemaster.tournament.spec import TournamentSpec, shown
from gamemaster.tournament.spec_files import Place, check_spec, field_text, read_spec
from gamemaster.tournament.spec_options import make_folder, new_spec
from gamemaster.tournament.standings import Standings, standings
from gamemaster.tournament.standings_texts import as_text
from gamemaster.tournament.store import Store, open_store
from gamemaster.tournament.venue import LocalVenue
from ggp.errors import SettingsError
from ggp.plots import rating_plot, standalone

_log = logging.getLogger(__name__)

OnResult: TypeAlias = Callable[[MatchResult], object]
MATCH_FIELDS = ("startclock", "playclock")  # that may stand among the fields of the specification
# May change though results are stored; the rules of games are compared as rules when a run begins.
_MAY_CHANGE: Any = {"limits": True, "results": True, "rounds": True, "games": {"__all__": {"rules"}}}


class Tournament:
    """A tournament between bots and external players, all named by text, on the processors of this computer.

    games: names of shipped games or paths of rulesheets; players: as `ggp match` takes them, a class of one's own by
    its file. fields: those of a specification, such as format, rounds, seed; startclock and playclock. What is played
    goes to an SQLite file in the folder, or in one that lasts as long as this object; `run` goes on with what is not
    played yet. SettingsError for anything wrong, and in all that reads or plays where the folder has a tournament of
    this name with other fields; rounds, limits and results may change, and a seed that is left out is the stored one.
    """

    def __init__(
        self,
        games: Sequence[str],
        players: Sequence[str],
        *,
        folder: Path | str | None = None,
        **fields: Any,  # noqa: ANN401 - judged by the specification
    ) -> None:
        clocks = {name: fields.pop(name) for name in MATCH_FIELDS if name in fields}
        match = fields.pop("match", {})
        if not isinstance(match, Mapping):
            raise SettingsError(f"match: a mapping from settings of matches to values is expected, not {match!r}")
        _check_texts("games", games, "a game is the name of a shipped one or the path of a rulesheet")
        _check_texts("players", players, "a player is named by text, code of your own as FILE.py:NAME")
        base = Path(tempfile.mkdtemp() if folder is None else folder)
        if folder is None:
            weakref.finalize(self, shutil.rmtree, base, ignore_errors=True)
        make_folder(base)
        self._take(new_spec(games, players, base, called=_parameter, **fields, match={**match, **clocks}))
        self._is_seed_drawn = "seed" not in fields

    @classmethod
    def read(cls, path: Path | str) -> "Tournament":
        """That of a specification in a file."""
        self = cls.__new__(cls)
        self._take(read_spec(Path(path)))
        return self

    def _take(self, spec: TournamentSpec) -> None:
        check_spec(spec)
        self.spec = spec
        self._is_seed_drawn = False

    def run(self, on_result: OnResult = lambda _: None, on_notice: Callable[[str], object] = _log.info) -> Standings:
        """Plays what is not played yet, and calls `on_result` after each match.

        on_notice: takes lines for people, such as that a player is still being prepared; by default they are logged.
        """
        failures: list[BaseException] = []

        def listen(news: News) -> None:
            if isinstance(news, MatchFinished):
                on_result(news.result)
            elif isinstance(news, Notice):
                on_notice(news.text)

        def play() -> None:
            try:
                with self._store() as (store, is_begun):
                    if not is_begun:
                        store.create(self.spec)
                    asyncio.run(_played(self.spec, store, listen))
            except BaseException as error:  # noqa: BLE001 - it is raised below
                failures.append(error)

        thread = Thread(target=play, name="tournament", daemon=True)  # a notebook has an event loop in its own
        thread.start()
        thread.join()
        for failure in failures:
            raise failure
        return self.standings

    @property
    def results(self) -> tuple[MatchResult, ...]:
        """Of the matches that were played."""
        with self._store() as (store, is_begun):
            return store.results(self.spec.name) if is_begun else ()

    @property
    def standings(self) -> Standings:
        """Ranks, ratings in Elo with 95 % intervals, and tables of games."""
        return standings([player.name for player in self.spec.players], self.results)

    def record(self, match: str) -> Record:
        """That of a match, by its name in the results. NotStoredError where there is none."""
        with self._store() as (store, _):
            return Record(store.record(self.spec.name, match))

    def rows(self) -> list[dict[str, Any]]:
        """A row for each match and player, of plain values."""
        return [
            {
                "match": result.pairing.id,
                "game": result.pairing.game,
                "role": role,
                "player": player,
                "goal": None if result.goals is None else result.goals[at],
                "ending": result.ending,
                "steps": result.steps,
            }
            for result in self.results
            for at, (role, player) in enumerate(zip(result.roles, result.pairing.players, strict=True))
        ]

    def to_pandas(self) -> Any:  # noqa: ANN401 - of a package that may be absent
        return as_pandas(self.rows())

    def to_arrow(self) -> Any:  # noqa: ANN401 - likewise
        return as_arrow(self.rows())

    def report(self) -> str:
        """The whole report as a page in HTML."""
        return report(self.spec, self.results, link=None)

    def __str__(self) -> str:
        """The tables as text."""
        return as_text(self.standings)

    def _repr_svg_(self) -> str | None:
        """In a notebook: the ratings."""
        rated = [(line.player, line.rating) for line in self.standings.lines if line.rating is not None]
        return standalone(rating_plot(rated, "Ratings in Elo points, with 95 % intervals")) if rated else None

    @contextmanager
    def _store(self) -> Iterator[tuple[Store, bool]]:
        """The store, and whether it has this tournament."""
        with open_store(self.spec.results.store) as store:
            begun = next((each.spec for each in store.tournaments() if each.spec.name == self.spec.name), None)
            if begun is not None:
                if self._is_seed_drawn:
                    self.spec = self.spec.model_copy(update={"seed": begun.seed})
                _check_same(self.spec, begun, store.place)
            yield store, begun is not None


def _check_same(spec: TournamentSpec, begun: TournamentSpec, store: str) -> None:
    """SettingsError with the first field that differs."""
    given, stored = (each.model_dump(mode="json", exclude=_MAY_CHANGE) for each in (spec, begun))
    difference = next(_differences(given, stored), None)
    if difference is not None:
        place, value, before = difference
        was = f"{shown(value)}, but {store} has this tournament with {shown(before)}"
        raise SettingsError(f"{_parameter(place)}: {was}; another folder or name begins another one")


def _differences(value: object, before: object, place: Place = ()) -> Iterator[tuple[Place, object, object]]:
    """The places at which two values of JSON differ, with what is there in each."""
    if isinstance(value, dict) and isinstance(before, dict) and value.keys() == before.keys():
        for name in value:
            yield from _differences(value[name], before[name], (*place, name))
    elif isinstance(value, list) and isinstance(before, list) and len(value) == len(before):
        for number, pair in enumerate(zip(value, before, strict=True)):
            yield from _differences(*pair, (*place, number))
    elif value != before:
        yield place, value, before


def _check_texts(name: str, given: object, meaning: str) -> None:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise SettingsError(f"{name}: a list is expected, not {given!r}")
    for number, one in enumerate(given):
        if not isinstance(one, str):
            raise SettingsError(f"{name}[{number}]: {meaning}, not {one!r}")


def _parameter(place: Place) -> str:
    """What a field of the specification is called here."""
    return field_text(place[1:] if place[:1] == ("match",) and place[1:2] and place[1] in MATCH_FIELDS else place)


async def _played(spec: TournamentSpec, store: Store, listen: Callable[[News], None]) -> None:
    venue = LocalVenue(spec, lambda text: listen(Notice(text)))
    try:
        await run_tournament(spec, store, venue, listen)
    finally:
        await venue.close()
