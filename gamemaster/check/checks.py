"""All checks in their order, and how they are gone through: a session → findings."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

from gamemaster.check import matches, robustness
from gamemaster.check.robustness import DEEP, judge_answers, still_plays
from gamemaster.check.session import Check, CheckResult, CheckSession, Judgement, bad, not_tried
from ggp.protocol.messages import Dialect

Run = Callable[[CheckSession], Awaitable[Sequence[Judgement]]]
Skip = Callable[[CheckSession], str]  # why something is not tried; empty when it is
Listener = Callable[[CheckResult], None]


@dataclass(frozen=True, slots=True)
class CheckGroup:
    """Checks that are made together."""

    checks: tuple[Check, ...]
    run: Run  # one judgement for each check
    skip: Skip


async def examine(session: CheckSession, parts: Sequence[CheckGroup], listen: Listener) -> tuple[CheckResult, ...]:
    """All findings; each is also told as soon as it is there. A match that is running is given up at the end."""
    findings: list[CheckResult] = []
    try:
        for part in parts:
            for finding in await _findings(session, part):
                listen(finding)
                findings.append(finding)
    finally:
        await session.give_up()
    return tuple(findings)


def all_parts() -> tuple[CheckGroup, ...]:
    """In the order in which they are tried: what matters most first, what may do harm last."""
    return (
        CheckGroup(
            (
                Check("connection", "A game master that cannot connect gives the player other moves than its own."),
                Check("INFO", "It tells a game master the player's name, and whether it is free."),
            ),
            matches.first_contact,
            lambda session: session.lost,
        ),
        *(_whole_match(dialect) for dialect in Dialect),
        CheckGroup(
            (
                Check("ABORT", "A match that is given up must not keep the player."),
                Check("START after ABORT", "The next match of a tournament begins at once."),
            ),
            matches.aborted_match,
            _without_match,
        ),
        *(_in_match(*each) for each in _DISTURBANCES),
        *(_one(name, why, run, _without_match) for name, why, run in _MATCHES),
        _one(
            "GDL-II",
            "Games of imperfect information tell each player its percepts only.",
            matches.match_of_percepts,
            lambda session: _without_match(session) or ("" if session.settings.percepts else "ask for it with --gdl2"),
        ),
        *(_one(name, why, partial(robustness.odd_request, name=name), _speechless) for name, why in _REQUESTS.items()),
        _one("length in characters", _WHY_LENGTH, robustness.length_in_characters, _without_match),
        *(_one(name, why, partial(robustness.no_message, name=name), _speechless) for name, why in _MALFORMED.items()),
        _one("silent connection", _WHY_HELD, robustness.silent_connection, _speechless),
        _one("half a request", _WHY_HELD, robustness.half_request, _speechless),
        _one("answers", "An answer that is not sound HTTP is lost.", judge_answers, lambda session: session.lost),
        _one("restart after STOP", _WHY_RESTART, robustness.judge_restarts, _without_match),
        _one("after all that", "No message may do lasting harm.", still_plays, _without_match),
        _one(DEEP, _WHY_REFUSED, partial(robustness.no_message, name=DEEP), _speechless),  # many do not survive it
    )


_WHY_LENGTH = "The game masters of ggp-base count characters where bytes are meant."
_WHY_HELD = "Anyone who can connect could keep the player from its match."
_WHY_HTTP = "Newer game masters use other parts of HTTP than the classic ones."
_WHY_REFUSED = "A quick refusal keeps no game master waiting, and a player that survives loses no match."
_WHY_RESTART = "Most game masters begin the next match at once, and a START without connection loses it."
_WHY_OTHERS = "Late messages of another match come, and the one that is running must not suffer."

_DISTURBANCES = (
    ("INFO in a match", "The game master must learn that the player is not free.", robustness.info_in_match),
    ("INFO during PLAY", "A player that takes one connection at a time looks dead.", robustness.info_during_play),
    ("second START", "A player has to decline a match that it cannot play.", robustness.second_start),
    ("START repeated", "Networks and game masters repeat a message that was not answered.", robustness.start_again),
    ("PLAY of another match", _WHY_OTHERS, robustness.play_of_another),
    ("STOP of another match", _WHY_OTHERS, robustness.stop_of_another),
    ("ABORT of another match", _WHY_OTHERS, robustness.abort_of_another),
)
_MATCHES = (
    (
        "PLAY repeated",
        "A player that takes a repetition for a new step loses track of the match.",
        robustness.play_repeated,
    ),
    ("PLAY left out", "Messages are lost; the next one still needs an answer.", robustness.play_left_out),
    ("PLAY without START", "A player that was restarted hears of unknown matches.", robustness.play_without_start),
    ("PLAY after STOP", "Messages overtake each other.", robustness.play_after_stop),
    ("PREVIEW", "ggp-base knows it, though it is hardly used.", robustness.preview),
    ("scrambled rules", "Tournaments scramble, so that no player recognises a game.", matches.scrambled_match),
    ("odd names", "Names in rulesheets can be any words, such as those of the protocol.", matches.match_of_odd_names),
    ("letters beyond ASCII", "Some rulesheets have them.", matches.match_of_letters),
    ("lower case", "The words of the protocol are the same in any case.", matches.match_in_lower_case),
    ("many lines", "White space in messages means nothing.", matches.match_in_many_lines),
)
_REQUESTS = {
    "few headers": "Some game masters send no header but the length.",
    "no headers": "Some game masters send nothing but the message.",
    "another content type": "Few libraries send text/acl by themselves.",
    "HTTP/1.1": _WHY_HTTP,
    "chunks": _WHY_HTTP,
    "byte by byte": "Networks cut messages where they like.",
    "length too large": "Some game masters count wrongly.",
    "GET": "ggp-base's players are asked in this way by browsers.",
}
_MALFORMED = {name: _WHY_REFUSED for name in robustness.malformed("") if name != DEEP}


async def _findings(session: CheckSession, part: CheckGroup) -> list[CheckResult]:
    reason = part.skip(session)
    first, first_ordinary = len(session.exchanges), len(session.ordinary)
    judgements = [not_tried(reason)] * len(part.checks) if reason else await part.run(session)
    unanswered = any(exchange.end != "answered" for exchange in session.ordinary[first_ordinary:])
    if unanswered and session.has_spoken and not session.lost:
        await session.trouble()
        judgements = _with_loss(judgements, session.lost)
    said = tuple(session.exchanges[first:])
    return [CheckResult(check, judgement, said) for check, judgement in zip(part.checks, judgements, strict=True)]


def _with_loss(judgements: Sequence[Judgement], loss: str) -> Sequence[Judgement]:
    """Bad at the end, when the player was lost here and nothing else says so."""
    *others, last = judgements
    if not loss or any(judgement.verdict == "bad" for judgement in judgements):
        return judgements
    return *others, bad(f"{last.seen}; then {loss}")


def _whole_match(dialect: Dialect) -> CheckGroup:
    name = dialect.value
    return CheckGroup(
        (
            Check(f"START, {name}", "A player that is not ready in time begins its match without its plan."),
            Check(f"moves, {name}", "The game master replaces a move that is not legal."),
            Check(f"time, {name}", "A move that comes too late counts as none."),
            Check(f"STOP, {name}", "A player that misses the end of a match is not free for the next one."),
        ),
        partial(matches.whole_match, dialect=dialect),
        lambda session: session.lost or ("" if dialect in session.settings.dialects else "left out by --dialect"),
    )


def _in_match(name: str, why: str, disturb: robustness.Disturbance) -> CheckGroup:
    return _one(name, why, partial(robustness.disturbed, disturb=disturb), _without_match)


def _one(name: str, why: str, judge: Callable[[CheckSession], Awaitable[Judgement]], skip: Skip) -> CheckGroup:
    async def run(session: CheckSession) -> Sequence[Judgement]:
        return (await judge(session),)

    return CheckGroup((Check(name, why),), run, skip)


def _without_match(session: CheckSession) -> str:
    """Why no match can be tried."""
    return session.lost or session.hindrance


def _speechless(session: CheckSession) -> str:
    """Why no question can be tried."""
    return session.lost or (
        "" if session.info or not session.hindrance else f"INFO is not answered, and {session.hindrance}"
    )
