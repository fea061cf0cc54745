"""The runner: all is played once, in order, as limits allow, whatever fails on the way."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from gamemaster.faults import make_fault
from gamemaster.record import MatchRecord, StartRecord
from gamemaster.replay import replay
from gamemaster.settings import MatchSettings, derived
from gamemaster.tournament import runner, spec_files
from gamemaster.tournament.pairings import WIN, Pairing, points, result_of
from gamemaster.tournament.progress import failure_text, result_text
from gamemaster.tournament.runner import (
    Closed,
    MatchFailed,
    MatchFinished,
    News,
    Opened,
    SprtProgress,
    TournamentError,
    Waiting,
    match_name,
    run_tournament,
)
from gamemaster.tournament.schedule import next_pairings
from gamemaster.tournament.spec import TournamentSpec
from gamemaster.tournament.standings import standings
from gamemaster.tournament.standings_texts import as_text
from gamemaster.tournament.store import Manager, Store, open_store
from gamemaster.tournament.venue import Job, LocalVenue
from ggp.errors import EvaluationError, SettingsError, StoreError
from tests.gamemaster.scripted import ScriptedPlayer
from tests.gamemaster.test_bots import processes
from tests.gamemaster.tournament.events import Given, spec
from tests.gamemaster.tournament.store_matches import a_record
from tests.gamemaster.tournament.venues import MadeUp, drawn, lines, pairing_of

THREE = ["a=montecarlo", "b=montecarlo", "c=montecarlo"]


@pytest.fixture
def event_store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "event.sqlite")) as store:
        yield store


@pytest.fixture(autouse=True)
def _no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "RETRY_WAITS", (0.0, 0.0))


async def run(event: TournamentSpec, store: Store, venue: MadeUp, news: list[News] | None = None) -> str:
    if event.name not in {stored.spec.name for stored in store.tournaments()}:
        store.create(event)
    told: list[News] = [] if news is None else news
    return await run_tournament(event, store, venue, told.append)


def ids(store: Store) -> list[str]:
    return sorted(result.pairing.id for result in store.results("event"))


def schedule(event: TournamentSpec, store: Store, roles: int = 2) -> list[str]:
    pairings = next_pairings(event, {game.name: roles for game in event.games}, store.results(event.name))
    return [pairing.id for pairing in pairings]


# What is offered a place, and when


def test_pairings_wait_in_order_and_those_of_the_same_players_together() -> None:
    waiting = Waiting()
    ab, ac, ba = pairing_of("a", "b"), pairing_of("a", "c"), pairing_of("b", "a", number=1)
    waiting.add([ab, ac, ba])
    offered: list[Pairing] = []

    def refuse(pairing: Pairing) -> bool:
        offered.append(pairing)
        return False

    waiting.take(refuse)
    assert offered == [ab, ac]

    def take(pairing: Pairing) -> bool:
        offered.append(pairing)
        return True

    offered.clear()
    waiting.take(take)
    assert offered == [ab, ac, ba]
    assert len(waiting) == 0
    waiting.put_back(ba)
    waiting.put_back(ab)
    offered.clear()
    waiting.take(lambda pairing: None if offered else take(pairing))
    assert offered == [ab]
    assert len(waiting) == 1


async def test_matches_begin_in_the_order_of_the_schedule_when_there_is_a_place_for_one(
    tmp_path: Path, event_store: Store
) -> None:
    event = spec(tmp_path, ["guessing", "tictactoe"], THREE, rounds=2)
    venue = MadeUp(event)
    news: list[News] = []
    assert await run(event, event_store, venue, news) == ""
    wanted = schedule(event, event_store)
    assert len(wanted) == 24
    assert [job.pairing.id for job in venue.jobs] == [job.match for job in venue.jobs] == wanted
    assert ids(event_store) == sorted(wanted)
    assert isinstance(news[0], Opened)
    assert (news[0].results, news[0].expected, news[-1]) == ((), 24, Closed(""))
    assert lines(news)[-1] == f"finished {wanted[-1]} 24/24"
    assert event_store.tournament("event").status == "complete"


def external(name: str, number: int) -> Mapping[str, object]:
    return {"name": name, "url": f"http://192.0.2.{number}:9147/"}


async def test_a_player_that_is_slow_does_not_hold_up_the_others(tmp_path: Path, event_store: Store) -> None:
    event = spec(tmp_path, ["guessing"], [external(name, number) for number, name in enumerate("abcd")], rounds=2)
    venue = MadeUp(event, waits=True)
    task = asyncio.create_task(run(event, event_store, venue))
    await venue.has_begun(2)
    slow = next(players for players in venue.under_way if "a" in players)
    others = [name for name in "abcd" if name not in slow]
    for count in range(3, 6):  # all four matches of the other two
        venue.end(*others)
        await venue.has_begun(count)
        assert {frozenset(players) for players in venue.under_way} == {frozenset(slow), frozenset(others)}
    assert all(set(job.pairing.players) in (set(slow), set(others)) for job in venue.jobs)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(venue.given_up) == 2
    assert len(ids(event_store)) == 3


async def test_a_match_that_needs_many_processors_is_not_overtaken(tmp_path: Path, event_store: Store) -> None:
    players: list[Given] = ["a=montecarlo", "b=montecarlo", {"name": "big", "bot": "montecarlo", "threads": 3}]
    event = spec(tmp_path, ["guessing"], players, rounds=3)
    venue = MadeUp(event, processors=5, waits=True)
    task = asyncio.create_task(run(event, event_store, venue))
    for count in range(1, 19):
        await venue.has_begun(count)
        venue.end(*venue.under_way[0])
    assert await task == ""
    pairings = next_pairings(event, {"guessing": 2}, event_store.results("event"))
    order = [set(pairing.players) for pairing in pairings]
    assert [set(job.pairing.players) for job in venue.jobs] == order  # two of the same may begin at once


async def test_a_match_without_bots_waits_for_no_processor(tmp_path: Path, event_store: Store) -> None:
    left, right = external("x", 1), external("y", 2)
    event = spec(tmp_path, ["guessing"], ["a=montecarlo", "b=montecarlo", left, right])
    venue = MadeUp(event, processors=1, waits=True)
    task = asyncio.create_task(run(event, event_store, venue))
    for count in range(1, 13):
        await venue.has_begun(count)
        if len(venue.under_way) == 2:
            break
        if set(venue.under_way[0]) not in ({"a", "b"}, {"x", "y"}):  # else the other two can begin as well
            venue.end(*venue.under_way[0])
    assert sorted(map(sorted, venue.under_way)) == [["a", "b"], ["x", "y"]]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("format_", ["swiss", "knock-out"])
async def test_a_schedule_that_depends_on_results_is_played_to_its_end(
    format_: str, tmp_path: Path, event_store: Store
) -> None:
    def first_wins(job: Job) -> MatchRecord:
        best = min(job.pairing.players)
        goals = {
            role: 100 if player == best else 0
            for role, player in zip(("white", "black"), job.pairing.players, strict=True)
        }
        return a_record(job.pairing, 2, goals=goals)

    fields = {"rounds": 2} if format_ == "swiss" else {"best_of": 3}
    event = spec(tmp_path, ["guessing"], [f"{name}=montecarlo" for name in "abcde"], format=format_, **fields)
    assert await run(event, event_store, MadeUp(event, first_wins, processors=4)) == ""
    assert ids(event_store) == sorted(schedule(event, event_store))
    assert event_store.tournament("event").status == "complete"


# What goes wrong


async def test_a_match_that_fails_by_our_fault_is_played_again(
    tmp_path: Path, event_store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    event = spec(tmp_path, ["guessing"], ["a=montecarlo", "b=montecarlo"])

    def fails_at_first(job: Job) -> MatchRecord:
        if job.attempt <= 2 and job.pairing.id == first:
            raise EvaluationError("no end") if job.attempt == 1 else ZeroDivisionError("by zero")
        return drawn(job)

    event_store.create(event)
    first, second = schedule(event, event_store)
    news: list[News] = []
    venue = MadeUp(event, fails_at_first)
    assert await run(event, event_store, venue, news) == ""
    told = lines(news)
    assert told[:2] == [f"begun {first}", f"failed {first} 1: no end"]
    assert f"failed {first}-2 2: ZeroDivisionError: by zero" in told
    [logged] = [each for each in caplog.records if each.exc_info]  # only what is a fault of this program
    assert logged.getMessage() == f"match {first} failed"
    assert told[-1].startswith("finished ")
    assert sorted(job.match for job in venue.jobs) == sorted([first, f"{first}-2", f"{first}-3", second])
    assert ids(event_store) == sorted([first, second])
    assert {row.pairing: row.failures for row in event_store.matches("event").rows if row.failures} == {first: 2}


async def test_a_match_that_cannot_be_played_stops_everything(tmp_path: Path, event_store: Store) -> None:
    event = spec(tmp_path, ["guessing"], THREE)

    def never(job: Job) -> MatchRecord:
        if job.pairing.id == doomed:
            raise StoreError("the disk is full")
        return drawn(job)

    event_store.create(event)
    doomed = schedule(event, event_store)[1]
    with pytest.raises(TournamentError, match=rf"^match {doomed} could not be played in 3 attempts: the disk is full$"):
        await run(event, event_store, MadeUp(event, never))
    done = ids(event_store)
    assert doomed not in done
    assert event_store.tournament("event").status == "interrupted"
    assert await run(event, event_store, MadeUp(event)) == ""
    assert ids(event_store) == sorted(schedule(event, event_store))


async def test_a_match_whose_rules_break_has_a_result(tmp_path: Path, event_store: Store) -> None:
    def breaks(job: Job) -> MatchRecord:
        return a_record(job.pairing, 1, status="broken", goals={}).model_copy(update={"goals": None})

    event = spec(tmp_path, ["guessing"], ["a=montecarlo", "b=montecarlo"], format="knock-out", best_of=2)
    assert await run(event, event_store, MadeUp(event, breaks)) == ""
    results = event_store.results("event")
    assert sorted(result.pairing.id for result in results) == sorted(schedule(event, event_store))
    assert {(result.ending, result.goals) for result in results} == {("broken", (None, None))}
    assert event_store.tournament("event").status == "complete"


async def test_a_result_that_could_not_be_written_at_once_is_not_lost(
    tmp_path: Path, event_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = spec(tmp_path, ["guessing"], ["a=montecarlo", "b=montecarlo"])
    finish, refused = Manager.finish, iter([True, True, False, True])

    def fail_at_first(self: Manager, pairing: Pairing, record: MatchRecord) -> object:
        if next(refused, False):
            raise StoreError("another program has held it for more than 20 seconds")
        return finish(self, pairing, record)

    monkeypatch.setattr(Manager, "finish", fail_at_first)
    venue = MadeUp(event)
    assert await run(event, event_store, venue) == ""
    assert len(venue.jobs) == len(ids(event_store)) == 2


async def test_a_tournament_has_one_manager(tmp_path: Path, event_store: Store) -> None:
    event = spec(tmp_path, ["guessing"], ["a=montecarlo", "b=montecarlo"])
    event_store.create(event)
    with event_store.manage("event"), pytest.raises(StoreError, match="event is being run by"):
        await run(event, event_store, MadeUp(event))


async def test_a_manager_that_has_lost_its_tournament_stops(
    tmp_path: Path, event_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = spec(tmp_path, ["guessing"], ["a=montecarlo", "b=montecarlo"])
    venue = MadeUp(event, waits=True)
    task = asyncio.create_task(run(event, event_store, venue))
    await venue.has_begun(1)
    with monkeypatch.context() as patched:
        patched.setattr("gamemaster.tournament.store.leases.is_alive", lambda _: False)
        with event_store.manage("event") as other:
            venue.end("a", "b")
            with pytest.raises(StoreError, match="event is not run by this manager any more"):
                await task
            assert ids(event_store) == []
            assert not other.is_lost


async def test_what_was_given_up_is_played_when_it_goes_on(tmp_path: Path, event_store: Store) -> None:
    event = spec(tmp_path, ["guessing"], THREE)
    venue = MadeUp(event, waits=True, processors=4)
    task = asyncio.create_task(run(event, event_store, venue))
    await venue.has_begun(2)
    venue.end(*venue.under_way[1])
    await venue.has_begun(3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(venue.given_up) == sorted(job.match for job in (venue.jobs[0], venue.jobs[2]))
    before = event_store.results("event")
    assert len(before) == 1
    news: list[News] = []
    again = MadeUp(event)
    assert await run(event, event_store, again, news) == ""
    assert isinstance(news[0], Opened)
    assert news[0].results == before
    assert [result for result in event_store.results("event") if result.pairing.id == before[0].pairing.id] == [*before]
    assert ids(event_store) == sorted(schedule(event, event_store))
    assert {job.match for job in again.jobs if job.attempt == 2} == {f"{name}-2" for name in venue.given_up}


@pytest.mark.parametrize("openings", ["", "((show 1) (show 2))\n"])
async def test_results_of_other_rules_are_not_mixed(tmp_path: Path, event_store: Store, openings: str) -> None:
    event = spec(tmp_path, ["guessing"], ["a=legal", "b=legal"], rounds=2, limits={"matches": 1})
    if openings:
        (tmp_path / "openings.txt").write_text(openings, encoding="utf-8")
        game = event.games[0].model_copy(update={"openings": str(tmp_path / "openings.txt")})
        event = event.model_copy(update={"games": (game,)})
    event_store.create(event)
    rules = tmp_path / "guessing.kif"
    text = rules.read_text(encoding="utf-8")

    async def one_more() -> None:
        """Until the next match is over."""
        venue = LocalVenue(event, lambda _: None)

        def stop(news: News) -> None:
            if isinstance(news, MatchFinished):
                task.cancel()

        task = asyncio.create_task(run_tournament(event, event_store, venue, stop))
        with suppress(asyncio.CancelledError):
            await task
        await venue.close()

    await one_more()
    rules.write_text(f"; the same\n{text}", encoding="utf-8")
    await one_more()
    before = event_store.results("event")
    assert len(before) == 2
    rules.write_text(f"{text}\n(another fact)", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"^games\[0\].rules: .*/guessing.kif has other rules than the matches"):
        await one_more()
    assert event_store.results("event") == before


# The sequential test


async def test_a_sequential_test_ends_it_as_soon_as_it_is_clear(tmp_path: Path, event_store: Store) -> None:
    def a_wins_mostly(job: Job) -> MatchRecord:
        is_first = job.pairing.players[0] == "a"
        goals = (100, 0) if is_first or job.pairing.round % 4 else (0, 100)
        values = goals if is_first else goals[::-1]
        return a_record(job.pairing, 2, goals=dict(zip(("white", "black"), values, strict=True)))

    event = spec(tmp_path, ["guessing"], ["a=montecarlo", "b=montecarlo"], rounds=500, sprt={"elo0": 0.0, "elo1": 50.0})
    news: list[News] = []
    note = await run(event, event_store, MadeUp(event, a_wins_mostly), news)
    assert note.startswith("a is stronger than b by 50 Elo rather than 0: log-likelihood ratio ")
    tests = [each for each in news if isinstance(each, SprtProgress)]
    assert note.endswith(f" after {tests[-1].pairs} pairs of matches")
    assert tests[-1].llr >= tests[-1].upper
    assert all(each.llr < each.upper for each in tests[:-1])
    finished = sum(isinstance(each, MatchFinished) for each in news)
    assert finished == 2 * tests[-1].pairs == len(ids(event_store)) < 500
    assert (event_store.tournament("event").status, event_store.tournament("event").note) == ("complete", note)
    venue = MadeUp(event)
    assert await run(event, event_store, venue) == note
    assert venue.jobs == []


# Players that were never reached, and forfeits


def void(job: Job) -> MatchRecord:
    """The first role's player was never reached."""
    fault = make_fault("unreachable", "no connection")
    record = a_record(job.pairing, 0, status="void")
    start = {"white": StartRecord(seconds=1.0, fault=fault), "black": StartRecord(seconds=0.1, answer="ready")}
    return record.model_copy(update={"start": start, "absent": ("white",), "goals": None, "reason": "was not reached"})


async def test_a_void_match_is_played_again_and_not_rated(tmp_path: Path, event_store: Store) -> None:
    """Twice more by default; each attempt has another name, and only the last one is a result."""
    event = spec(tmp_path, ["guessing"], ["a=montecarlo", "b=montecarlo"])
    venue = MadeUp(event, void)
    news: list[News] = []
    assert await run(event, event_store, venue, news) == ""
    assert len(venue.jobs) == 6
    assert len({job.match for job in venue.jobs}) == 6
    failed = [each for each in news if isinstance(each, MatchFailed)]
    assert all(each.is_void and each.reason == "was not reached" for each in failed)
    assert failure_text(failed[0]).endswith("is void, attempt 1: was not reached; it is played again")
    assert [row.failures for row in event_store.matches("event").rows] == [0, 0]
    results = event_store.results("event")
    assert [(result.ending, result.goals, result.absent) for result in results] == [
        ("void", (None, None), (True, False))
    ] * 2
    values = standings(["a", "b"], results)
    assert (values.decided, values.ratings.players) == (0, ())
    assert {conduct.player: conduct.absences for conduct in values.conduct} == {"a": 1, "b": 1}
    assert "never reached" in as_text(values)


async def test_a_match_that_is_void_once_has_the_result_of_the_next_attempt(tmp_path: Path, event_store: Store) -> None:
    event = spec(tmp_path, ["guessing"], ["a=montecarlo", "b=montecarlo"])
    venue = MadeUp(event, lambda job: void(job) if job.attempt == 1 else drawn(job))
    assert await run(event, event_store, venue) == ""
    assert [result.ending for result in event_store.results("event")] == ["terminal"] * 2


def test_who_was_never_reached_loses_where_a_format_needs_a_winner() -> None:
    pairing = pairing_of("a", "b")
    assert points(result_of(pairing, void(Job(pairing, 1, "m", MatchSettings())))) == (0, WIN)


async def test_a_forfeit_is_kept_and_shown(tmp_path: Path, event_store: Store) -> None:
    def forfeited(job: Job) -> MatchRecord:
        record = a_record(job.pairing, 3, status="forfeit", goals={"white": 0, "black": 100})
        return record.model_copy(update={"forfeited": ("white",)})

    event = spec(tmp_path, ["guessing"], ["a=montecarlo", "b=montecarlo"])
    assert await run(event, event_store, MadeUp(event, forfeited)) == ""
    results = event_store.results("event")
    assert [result.forfeited for result in results] == [("white",)] * 2
    assert "forfeit of " in result_text(results[0])
    assert [row.forfeited for row in event_store.matches("event").rows] == [("white",)] * 2
    values = standings(["a", "b"], results)
    assert values.decided == 2
    assert {conduct.player: conduct.forfeits for conduct in values.conduct} == {"a": 1, "b": 1}
    assert "forfeited" in as_text(values)


def test_what_the_game_master_caused_is_not_counted_against_a_player() -> None:
    pairing = pairing_of("a", "b")
    own = replace(make_fault("timeout", "late"), cause="game master")
    record = a_record(pairing, 2, faults={0: {"white": own}, 1: {"white": make_fault("timeout", "late")}})
    assert result_of(pairing, record).faults == ({"timeout": 1}, {})


# Openings


async def test_openings_are_played_from_both_sides(tmp_path: Path, event_store: Store) -> None:
    """One in each round, for all matches of the round, so that roles are exchanged."""
    (tmp_path / "openings.txt").write_text("((show 1) (show 2))  ; one\n\n(show 3) (show 3)\n", encoding="utf-8")
    event = spec(tmp_path, ["guessing"], ["a=montecarlo", "b=montecarlo"], rounds=3)
    game = event.games[0].model_copy(update={"openings": str(tmp_path / "openings.txt")})
    event = event.model_copy(update={"games": (game,)})
    venue = MadeUp(event)
    assert await run(event, event_store, venue) == ""
    one, other = "((show 1) (show 2))", "(show 3) (show 3)"
    assert [job.opening for job in venue.jobs] == [one, one, other, other, one, one]
    for pair in (venue.jobs[:2], venue.jobs[2:4]):
        assert {job.pairing.players for job in pair} == {("a", "b"), ("b", "a")}


# Names


def test_names_of_matches_tell_no_game_that_is_scrambled_and_differ_by_attempt() -> None:
    pairing = pairing_of("a", "b")
    assert match_name(pairing, 1, scramble=False) == "a-b-0"
    assert match_name(pairing, 3, scramble=False) == "a-b-0-3"
    name = match_name(pairing, 1, scramble=True)
    assert name == f"match-{derived(1, 'match'):016x}"
    assert match_name(pairing, 2, scramble=True) == f"{name}-2"


# Whole tournaments, with bots


async def test_rules_that_do_not_answer_break_their_matches_and_hold_nothing_up(
    tmp_path: Path, event_store: Store
) -> None:
    clocks = {"startclock": 5, "playclock": 5, "rules_wait": 1.0}
    event = spec(tmp_path, ["unanswered-after-a-step", "countdown"], ["a=legal"], match=clocks, rounds=2)
    event_store.create(event)
    local_venue = LocalVenue(event, lambda _: None)
    try:
        assert await run_tournament(event, event_store, local_venue, lambda _: None) == ""
    finally:
        await local_venue.close()
    endings = {result.pairing.id: (result.pairing.game, result.ending) for result in event_store.results("event")}
    assert sorted(endings.values()) == [
        ("countdown", "terminal"),
        ("countdown", "terminal"),
        ("unanswered-after-a-step", "broken"),
        ("unanswered-after-a-step", "broken"),
    ]
    broken = next(name for name, (_, ending) in endings.items() if ending == "broken")
    assert event_store.record("event", broken).is_exhausted


async def test_rules_that_never_give_a_state_are_refused_before_the_first_match(
    tmp_path: Path, event_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spec_files, "RULES_WAIT", 0.5)
    event = spec(tmp_path, ["countdown", "unanswered-at-the-beginning"], ["a=legal"])
    with pytest.raises(SettingsError, match=r"games\[1\]\.rules: the rules give no answer at the beginning: no answer"):
        await run(event, event_store, MadeUp(event))


async def test_a_tournament_between_bots_goes_on_when_a_player_is_dead(tmp_path: Path, event_store: Store) -> None:
    async with ScriptedPlayer() as dead:
        url = dead.url
    before = processes()
    players: list[Given] = ["a=legal", "b=random", {"name": "dead", "url": url}]
    clocks = {"startclock": 1, "playclock": 1, "grace": 0.0}
    limits = {"available_wait": 0.1, "attempts": 2}
    event = spec(tmp_path, ["guessing"], players, match=clocks, format="gauntlet", limits=limits)
    event_store.create(event)
    local_venue = LocalVenue(event, lambda _: None)
    try:
        assert await run_tournament(event, event_store, local_venue, lambda _: None) == ""
    finally:
        await local_venue.close()
    assert processes() == before
    results = event_store.results("event")
    assert sorted(result.pairing.id for result in results) == sorted(schedule(event, event_store))
    for result in results:
        faults = dict(zip(result.pairing.players, result.faults, strict=True))
        assert all(set(kinds) == ({"unreachable"} if name == "dead" else set()) for name, kinds in faults.items())
        record = event_store.record("event", result.pairing.id)
        is_void = "dead" in result.pairing.players
        assert (record.status == "void") == is_void
        assert record.match == result.pairing.id + ("-2" if is_void else "")
        assert len(list(replay(record))) == (1 if is_void else 3)
