"""Whether each kind of badness is found, in virtual time; and whether what is sound is left alone."""

import asyncio
from collections.abc import Callable

import pytest

from gamemaster.check.checks import all_parts, examine
from gamemaster.check.session import CheckResult, CheckSession, CheckSettings
from ggp.protocol.messages import Dialect, Info, Play, Start
from tests.gamemaster import games
from tests.gamemaster.check.scripted import SoundPlayer, findings_of, game, parts
from tests.gamemaster.check.spoilt import (
    SPOILT,
    DiesOf,
    Ignores,
    KnowsThreeMessages,
    LikeGgpBase,
    LikeSancho,
    RefusesByStatus,
    Says,
    StartsAgain,
)
from tests.gamemaster.virtual_time import run

SETTINGS = CheckSettings(percepts=True, seed=1)
NAMES = [check.name for part in all_parts() for check in part.checks]
NEEDS_TOLERANCE = {"no headers", "chunks", "length too large", "GET", "length in characters"}


def names(found: dict[str, CheckResult], verdict: str) -> set[str]:
    return {name for name, finding in found.items() if finding.judgement.verdict == verdict}


@pytest.mark.parametrize("name", SPOILT)
def test_each_kind_of_badness_is_found(name: str) -> None:
    spoilt = SPOILT[name]
    _, found = findings_of(spoilt.make(), parts(spoilt.check), SETTINGS)
    judgement = found[spoilt.check].judgement
    assert judgement.verdict == spoilt.verdict, judgement
    assert spoilt.seen in judgement.seen
    assert judgement.seen.isprintable()


@pytest.mark.parametrize("check", sorted({spoilt.check for spoilt in SPOILT.values()}))
def test_a_sound_player_does_well_in_each_of_these(check: str) -> None:
    _, found = findings_of(SoundPlayer(), parts(check), SETTINGS)
    assert found[check].judgement.verdict == "good", found[check].judgement


def test_nothing_bad_is_found_in_a_sound_player() -> None:
    """It reads HTTP as the standard says, and no more."""
    _, found = findings_of(SoundPlayer(), all_parts(), SETTINGS)
    assert list(found) == NAMES
    assert names(found, "could be better") == NEEDS_TOLERANCE
    assert names(found, "good") == set(NAMES) - NEEDS_TOLERANCE


ONE_STEP = "(role solo) (init a) (legal solo go) (<= (next b) (true a)) (<= terminal (true b)) (goal solo 100)"
THREE_ROLES = """
(role a) (role b) (role c) (init (at 0)) (after 0 1) (after 1 2) (after 2 3)
(<= (legal ?r (say ?n)) (role ?r) (after ?n ?m))
(<= (next (at ?m)) (true (at ?n)) (after ?n ?m))
(<= terminal (true (at 3)))
(goal a 0) (goal b 50) (goal c 100)
"""


@pytest.mark.parametrize("rules", [ONE_STEP, THREE_ROLES, games.DICE], ids=["one step", "three roles", "nature"])
def test_any_game_will_do(rules: str) -> None:
    _, found = findings_of(SoundPlayer(), all_parts(), SETTINGS, rules)
    assert names(found, "could be better") == NEEDS_TOLERANCE
    assert names(found, "bad") == set()
    assert names(found, "not tried") <= {"PLAY left out"}


@pytest.mark.parametrize("make", [LikeGgpBase, LikeSancho])
def test_nothing_bad_is_found_in_players_like_those_in_the_wild(make: Callable[[], SoundPlayer]) -> None:
    session, found = findings_of(make(), all_parts(), SETTINGS)
    assert names(found, "bad") == set()
    assert {"PLAY repeated", "PREVIEW", "unknown word", "silent connection"} < names(found, "could be better")
    assert session.lost == ""


def test_what_is_out_of_place_may_be_refused_by_a_status() -> None:
    _, found = findings_of(RefusesByStatus(), all_parts(), SETTINGS)
    assert "HTTP status 400" in found["PLAY left out"].judgement.seen
    assert found["PLAY left out"].judgement.verdict == "good"
    for name in ("second START", "PLAY without START", "PLAY after STOP", "PLAY of another match"):
        assert "HTTP status 409" in found[name].judgement.seen
        assert found[name].judgement.verdict == "could be better"
    assert names(found, "bad") == set()


def test_a_player_that_knows_three_messages_only_is_still_tried_to_the_end() -> None:
    session, found = findings_of(KnowsThreeMessages(), all_parts(), SETTINGS)
    assert names(found, "bad") == {"START after ABORT"}
    assert names(found, "not tried") == {"INFO in a match", "INFO during PLAY"}
    assert session.lost == ""


def test_a_player_that_does_not_answer_info_is_asked_by_matches() -> None:
    _, found = findings_of(Says(Info, ""), all_parts(), SETTINGS)
    assert names(found, "bad") == set()
    assert names(found, "not tried") == {"INFO in a match", "INFO during PLAY"}
    assert "'ready'" in found["another content type"].judgement.seen


def test_nobody_there() -> None:
    async def whole() -> tuple[CheckSession, tuple[CheckResult, ...]]:
        async with SoundPlayer() as player:
            player.die()
            session = CheckSession(player.address, game(), SETTINGS)
            return session, await examine(session, all_parts(), lambda _: None)

    session, findings = run(whole())
    assert len(session.exchanges) == 1
    assert findings[0].judgement.verdict == "bad"
    assert findings[0].judgement.seen == "no connection: Connection refused"
    assert {finding.judgement.verdict for finding in findings[1:]} == {"not tried"}


def test_a_player_that_never_says_anything_is_soon_left_alone() -> None:
    class Mute(SoundPlayer):
        async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()

    session, found = findings_of(Mute(), all_parts(), SETTINGS)
    assert session.lost == "it accepts connections, but has answered nothing"
    assert names(found, "bad") == {"START, ggp-base", "moves, ggp-base", "time, ggp-base"}
    assert found["after all that"].judgement.seen == session.lost
    assert sum(exchange.seconds for exchange in session.exchanges) == 2 + 6 + 6


def test_a_player_that_answers_in_no_http_is_soon_left_alone() -> None:
    class Plain(SoundPlayer):
        async def answer(self, text: str) -> str | bytes:
            answer = await super().answer(text)
            return answer.encode() if isinstance(answer, str) else answer

    session, found = findings_of(Plain(), all_parts(), SETTINGS)
    assert session.lost == "it accepts connections, but no answer was HTTP"
    assert names(found, "bad") == {"moves, ggp-base"}
    assert found["answers"].judgement.verdict == "not tried"
    assert found["after all that"].judgement.seen == session.lost


def test_a_player_that_plays_no_match_is_not_asked_for_more_of_them() -> None:
    _, found = findings_of(Says(Start, "busy"), all_parts())
    assert names(found, "bad") == {"START, ggp-base", "START, dresden"}
    assert found["scrambled rules"].judgement.seen == "START was answered 'busy' after 0.00 s"
    assert found["unknown word"].judgement.verdict == "good"


def test_a_player_that_never_moves_is_not_asked_for_more_matches() -> None:
    _, found = findings_of(Ignores(Play), all_parts())
    assert found["STOP, ggp-base"].judgement.verdict == "not tried"
    assert found["odd names"].judgement.seen == "no PLAY was answered"
    assert "moves, dresden" in names(found, "bad")


def test_what_follows_a_death_is_not_tried() -> None:
    session, found = findings_of(DiesOf("DANCE"), all_parts())
    after = NAMES[NAMES.index("unknown word") + 1 :]
    assert names(found, "bad") == {"unknown word"}
    assert {found[name].judgement.seen for name in after} == {session.lost}
    assert session.lost == "no connection: Connection refused"


def test_what_many_do_not_survive_is_tried_last() -> None:
    assert NAMES[-1] == "deep message"


def test_a_player_that_starts_again_after_each_match_is_waited_for() -> None:
    session, found = findings_of(StartsAgain(1.5), all_parts(), SETTINGS)
    assert names(found, "bad") == set()
    assert "restart after STOP" in names(found, "could be better")
    assert len(session.restarts) > 1
    assert session.lost == ""


def test_one_dialect_can_be_left_out() -> None:
    _, found = findings_of(SoundPlayer(), parts("START, dresden"), CheckSettings(dialects=(Dialect.DRESDEN,), seed=1))
    assert found["START, dresden"].judgement.verdict == "good"
    assert found["START, ggp-base"].judgement.seen == "left out by --dialect"


def test_gdl2_has_to_be_asked_for() -> None:
    _, found = findings_of(SoundPlayer(), parts("GDL-II"), CheckSettings(seed=1))
    assert found["GDL-II"].judgement.seen == "ask for it with --gdl2"


def test_the_match_is_given_up_when_the_checks_are() -> None:
    player = SoundPlayer()

    def stop(finding: CheckResult) -> None:
        if finding.check.name == "second START":
            raise asyncio.CancelledError

    async def whole() -> None:
        async with player:
            session = CheckSession(player.address, game(), SETTINGS)
            with pytest.raises(asyncio.CancelledError):
                await examine(session, all_parts(), stop)

    run(whole())
    assert player.heard[-1].startswith("( ABORT ")
    assert player.name == ""
