"""How a player takes what should not happen: messages at the wrong moment, odd requests, bytes that are no message."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from urllib.parse import quote_plus

from gamemaster.check.exchange import Address, Exchange, chunked, head, held_open, ordinary, request
from gamemaster.check.matches import TrialMatch, begun, holds
from gamemaster.check.session import (
    ACCIDENT,
    GRACE,
    INFO_LATE,
    INFO_WAIT,
    LATE,
    LETTERS,
    LETTERS_ROLE,
    PLAIN,
    PLAIN_MOVES,
    PLAIN_ROLE,
    CheckSession,
    Judgement,
    Wrap,
    bad,
    better,
    good,
    heard,
    info_of,
    is_accident,
    not_tried,
    word_of,
)
from gamemaster.faults import shown
from ggp.errors import MessageError
from ggp.gdl.terms import Term
from ggp.protocol.messages import (
    BUSY,
    CONTENT_TYPE,
    NO_MOVE,
    READY,
    Abort,
    Info,
    Message,
    Play,
    Preview,
    Start,
    Stop,
    format_message,
    parse_move,
    request_headers,
)

FIRST_STEPS = 2  # before a disturbance; after one, a player that begins anew may still be right by chance
Disturbance = Callable[[CheckSession, TrialMatch], Awaitable[Judgement]]


async def disturbed(session: CheckSession, disturb: Disturbance) -> Judgement:
    """What a player makes of something in the middle of a match; bad when the match suffers."""
    trial = await _running(session)
    if isinstance(trial, Judgement):
        return trial
    judgement = await disturb(session, trial)
    if session.lost:
        return bad(f"{judgement.seen}; then {session.lost}")
    if trial.is_over:
        return judgement
    asked = await trial.play()
    if holds(session, asked):
        return judgement
    await session.give_up()
    return bad(f"{judgement.seen}; then the match that was running went wrong: {asked.text}")


async def info_in_match(session: CheckSession, _: TrialMatch) -> Judgement:
    if session.info is None:
        return not_tried("INFO is not answered")
    return _judge_info_in_match(await session.tell(format_message(Info(), session.dialect), INFO_WAIT + INFO_LATE))


async def info_during_play(session: CheckSession, trial: TrialMatch) -> Judgement:
    """INFO and PLAY at the same time."""
    if session.info is None:
        return not_tried("INFO is not answered")
    text = format_message(Info(), session.dialect)
    async with asyncio.TaskGroup() as group:
        playing = group.create_task(trial.play())
        asking = group.create_task(session.tell(text, session.settings.playclock + GRACE + LATE))
    exchange, asked = asking.result(), playing.result()
    if not holds(session, asked):
        return bad(f"INFO: {heard(exchange)}; PLAY: {asked.text}")
    if exchange.end != "answered" or exchange.seconds > INFO_WAIT:
        return better(f"{heard(exchange)}; one connection at a time, it seems")
    return good(heard(exchange))


async def second_start(session: CheckSession, _: TrialMatch) -> Judgement:
    """START of another match: busy, or both are played."""
    name = session.new_name()
    clock = session.settings.startclock
    start = Start(name, PLAIN_ROLE, PLAIN.strip(), clock, session.settings.playclock)
    exchange = await _say(session, start, clock + GRACE + LATE)
    session.refusable.append(exchange)
    word = word_of(exchange)
    if word == BUSY:
        return good(heard(exchange))
    if word != READY:
        return better(f"{heard(exchange)}, not 'busy'")
    play = await _say(session, Play(name, None), session.settings.playclock + GRACE + LATE)
    await session.dismiss(name)
    if _move_of(play) in PLAIN_MOVES:
        return good(f"{heard(exchange)}, and it plays both")
    return bad(f"{heard(exchange)}, but it does not play: PLAY was answered {heard(play)}")


async def start_again(_: CheckSession, trial: TrialMatch) -> Judgement:
    """The same START once more, as after a lost answer."""
    exchange = await trial.start_again()
    return good(heard(exchange)) if word_of(exchange) in (READY, BUSY) else better(heard(exchange))


async def play_of_another(session: CheckSession, _: TrialMatch) -> Judgement:
    return await _out_of_place(session, Play(session.new_name(), None))


async def stop_of_another(session: CheckSession, _: TrialMatch) -> Judgement:
    return await _out_of_place(session, Stop(session.new_name(), None))


async def abort_of_another(session: CheckSession, _: TrialMatch) -> Judgement:
    return _busy_is_good(session, await _say(session, Abort(session.new_name()), INFO_WAIT + LATE))


async def play_repeated(session: CheckSession) -> Judgement:
    """The first PLAY twice, and the second one, too."""
    trial = await begun(session)
    if isinstance(trial, Judgement):
        return trial
    seen: list[str] = []
    verdicts: set[str] = set()
    for _ in range(2):
        if trial.is_over or session.lost:
            break
        await trial.play()
        exchange = await trial.play_again()
        same = trial.repeats(exchange)
        known = same or trial.was_legal(exchange)
        verdicts.add("good" if same else "could be better")
        seen.append(f"{heard(exchange)}{', the same move' if same else '' if known else ', not legal in that step'}")
    if not trial.is_over and not session.lost:
        asked = await trial.play()
        if not holds(session, asked):
            verdicts.add("could be better")
            seen.append(f"it takes a repetition for a new step, {asked.text}")
    await session.give_up()
    return (good if verdicts == {"good"} else better)("; ".join(seen))


async def play_left_out(session: CheckSession) -> Judgement:
    """One PLAY is missing, so that the next one speaks of a step that the player does not know."""
    trial = await begun(session)
    if isinstance(trial, Judgement):
        return trial
    await trial.play()
    if not trial.is_over:
        await trial.leave_out()
    if trial.is_over:
        await session.give_up()
        return not_tried("the match was too short")
    asked = await trial.play()
    await session.give_up()
    exchange = asked.exchange
    if exchange.end != "answered" or exchange.seconds > session.settings.playclock + GRACE:
        return better(f"{heard(exchange)}; the game master waits for its whole clock")
    if is_accident(exchange):
        return better(f"{heard(exchange)}; {ACCIDENT}")
    session.refusable.append(exchange)
    return good(heard(exchange))


async def play_without_start(session: CheckSession) -> Judgement:
    """PLAY while no match is running."""
    await session.give_up()
    return await _out_of_place(session, Play(session.new_name(), None))


async def play_after_stop(session: CheckSession) -> Judgement:
    """A PLAY that comes after the end of its match."""
    trial = await begun(session)
    if isinstance(trial, Judgement):
        return trial
    await trial.play()
    await trial.stop()
    return _busy_is_good(session, await trial.play_again())


async def preview(session: CheckSession) -> Judgement:
    """Rules to think about, with no match."""
    await session.give_up()
    exchange = await _say(
        session, Preview(PLAIN.strip(), session.settings.startclock), session.settings.startclock + GRACE
    )
    if word_of(exchange) in (READY, BUSY):
        return good(heard(exchange))
    return better(f"{heard(exchange)}; hardly any player knows it")


async def _running(session: CheckSession) -> TrialMatch | Judgement:
    """The match that is running, or a new one, after its first steps where it has more."""
    running = session.match
    if isinstance(running, TrialMatch):
        if not running.is_over:
            return running
        await running.stop()
    trial = await begun(session)
    if isinstance(trial, Judgement):
        return trial
    for _ in range(FIRST_STEPS):
        asked = await trial.play()
        if not holds(session, asked):
            await session.give_up()
            return bad(f"the match does not even begin: {asked.text}")
        if trial.is_over:
            await trial.stop()
            return await begun(session)
    return trial


async def _out_of_place(session: CheckSession, message: Message) -> Judgement:
    return _busy_is_good(session, await _say(session, message, session.settings.playclock + GRACE + LATE))


async def _say(session: CheckSession, message: Message, allowed: float) -> Exchange:
    return await session.tell(format_message(message, session.dialect), allowed)


def _move_of(exchange: Exchange) -> Term | None:
    words = exchange.words
    if isinstance(words, str):
        with suppress(MessageError):
            return parse_move(words)
    return None


def _judge_info_in_match(exchange: Exchange) -> Judgement:
    info = info_of(exchange)
    if info is not None and info.status == BUSY:
        return good(heard(exchange))
    return better(f"{heard(exchange)}, which does not say 'busy'")


def _busy_is_good(session: CheckSession, exchange: Exchange) -> Judgement:
    """Of the answer to a message out of place."""
    session.refusable.append(exchange)
    word = word_of(exchange)
    if word in (BUSY, NO_MOVE):
        return good(heard(exchange))
    return better(f"{heard(exchange)}, not 'busy'")


_HUGE = 2**18  # words
_HUGE_WAIT = 3.0  # seconds beyond the usual for a message that takes so long to read
DEEP = "deep message"
_DEEP = 100_000  # parentheses


def wrappings(address: Address) -> dict[str, Wrap]:
    """The name of a check → how it sends a message."""
    usual = request_headers("player") | {"Content-Type": CONTENT_TYPE}
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    kept = usual | {"Connection": "keep-alive"}
    start = f"POST {address.target} HTTP/1.0\r\n"
    return {
        "few headers": lambda body: (f"{start}Content-Length: {len(body)}\r\n\r\n".encode() + body,),
        "no headers": lambda body: (f"{start}\r\n".encode() + body,),
        "another content type": lambda body: (request(address, body, form),),
        "HTTP/1.1": lambda body: (request(address, body, kept, version="1.1"),),
        "chunks": lambda body: (chunked(address, body),),
        "byte by byte": lambda body: tuple(bytes([byte]) for byte in request(address, body, usual)),
        "length too large": lambda body: (request(address, body, usual, length=len(body) + 2),),
        "GET": lambda body: (_get(address, body),),
    }


def malformed(name: str) -> dict[str, bytes]:
    """The name of a check → a body that is no message; `name` is that of a match that nobody knows."""
    match = name.encode()
    return {
        "empty message": b"",
        "no list": b"hello",
        "unbalanced message": b"( PLAY %b ( " % match,
        "one parenthesis too many": b"( INFO ) )",
        "unknown word": b"( DANCE %b )" % match,
        "parts missing": b"( START %b )" % match,
        "not UTF-8": b"( PLAY %b (\xff\xfe\x80) )" % match,
        "control characters": b"( PLAY %b (\x00\x07\x1b[2J) )" % match,
        "huge message": b"( PLAY %b (" % match + b"x " * _HUGE + b") )",
        DEEP: b"( PLAY %b " % match + b"(" * _DEEP + b")" * _DEEP + b" )",
        "rules without meaning": b"( START %b solo ((role solo) (<= (legal solo ?x) (not (true ?y)))) 2 2)" % match,
        "unknown role": b"( START %b nobody ((role solo) (init a) (legal solo b) (<= terminal (true c))) 2 2)" % match,
    }


async def odd_request(session: CheckSession, name: str) -> Judgement:
    """A sound message in a request of another form."""
    await session.give_up()
    exchange, understood = await session.ask_anything(name, wrappings(session.address)[name])
    judgement = good(heard(exchange)) if understood else better(heard(exchange))
    return await _survived(session, judgement)


async def no_message(session: CheckSession, name: str) -> Judgement:
    """Something that means nothing; it is best refused at once, and never kept."""
    await session.give_up()
    match = session.new_name()
    body = malformed(match)[name]
    is_start = body.startswith(b"( START")
    allowed = session.settings.startclock + GRACE if is_start else INFO_WAIT + (_HUGE_WAIT if len(body) > _HUGE else 0)
    headers = request_headers("player") | {"Content-Type": CONTENT_TYPE}
    exchange = await session.send(name, (request(session.address, body, headers),), allowed)
    judgement = good(heard(exchange)) if exchange.end == "answered" else better(heard(exchange))
    if is_accident(exchange):
        judgement = better(f"{judgement.seen}; {ACCIDENT}")
    if word_of(exchange) == READY:
        judgement = better(f"{judgement.seen}, although it cannot be")
    if is_start and not session.lost:
        await session.dismiss(match)
    return await _survived(session, judgement)


async def length_in_characters(session: CheckSession) -> Judgement:
    """A length that counts characters where it should count bytes, as ggp-base does."""
    await session.give_up()
    name = session.new_name()
    clock = session.settings.startclock
    text = format_message(Start(name, LETTERS_ROLE, LETTERS.strip(), clock, session.settings.playclock))
    headers = request_headers("player") | {"Content-Type": CONTENT_TYPE}
    data = request(session.address, text.encode(), headers, length=len(text))
    exchange = await session.send("START, its length in characters", (data,), clock + GRACE)
    judgement = good(heard(exchange)) if word_of(exchange) == READY else better(heard(exchange))
    if not session.lost:
        await session.dismiss(name)
    return await _survived(session, judgement)


async def silent_connection(session: CheckSession) -> Judgement:
    """Somebody connects and says nothing."""
    return await _with_open_connection(session, b"")


async def half_request(session: CheckSession) -> Judgement:
    """Somebody connects and says half of what it announced."""
    data = ordinary(session.address, f"( PLAY {session.new_name()} NIL )", session.dialect, "player")
    return await _with_open_connection(session, data[:-5])


async def _with_open_connection(session: CheckSession, data: bytes) -> Judgement:
    """A question while another connection is open."""
    await session.give_up()
    async with held_open(session.address, data):
        exchange, understood = await session.ask_anything("asked while another connection is open")
    judgement = good(f"others are answered: {heard(exchange)}") if understood else better(f"others: {heard(exchange)}")
    return await _survived(session, judgement)


async def _survived(session: CheckSession, judgement: Judgement) -> Judgement:
    """Bad when the player is not what it was before."""
    trouble = await session.trouble()
    if session.lost:
        return bad(f"{judgement.seen}; then {trouble}: it has to be started again")
    return bad(f"{judgement.seen}; then {trouble}") if trouble else judgement


def _get(address: Address, body: bytes) -> bytes:
    line = head(address, {"Host": address.authority}).partition(b"\r\n")[2]
    return f"GET {address.target.rstrip('/')}/{quote_plus(body)} HTTP/1.0\r\n".encode() + line


_NEEDED = frozenset({"START", "PLAY", "STOP"})  # what every player knows


async def judge_answers(session: CheckSession) -> Judgement:
    """All answers to ordinary requests as HTTP; sends nothing."""
    came = [exchange for exchange in session.ordinary if exchange.received]
    if not came:
        return not_tried("there was no answer")
    faults = list(dict.fromkeys(fault for exchange in came for fault in _faults(session, exchange)))
    if faults:
        return bad("; ".join(faults))
    answers = [exchange.answer for exchange in came]
    if not all(answer is not None and answer.has_length for answer in answers):
        return better("some without Content-Length, so that a connection that breaks cannot be told from the end")
    return good(f"{len(came)} answers, all sound")


async def judge_restarts(session: CheckSession) -> Judgement:
    """A match that ends, and the next one at once; all matches before count, too."""
    for _ in range(2):
        trial = await begun(session)
        if isinstance(trial, Judgement):
            return trial
        await trial.stop()
    if not session.restarts:
        return good("it is there at once after each match")
    times = "once" if len(session.restarts) == 1 else f"{len(session.restarts)} times"
    longest = max(session.restarts)
    return better(
        f"{times} it could not be reached after STOP, for up to {longest:.1f} s; this check has waited for it"
    )


async def still_plays(session: CheckSession) -> Judgement:
    """A match begins as in the beginning."""
    trial = await begun(session)
    if isinstance(trial, Judgement):
        return trial
    asked = await trial.play()
    await session.give_up()
    return good(asked.text) if holds(session, asked) else bad(asked.text)


def _faults(session: CheckSession, exchange: Exchange) -> Iterator[str]:
    """What is wrong with the HTTP of an answer."""
    answer = exchange.answer
    what = exchange.request.what
    if exchange.end == "flooded":
        yield f"{what}: a very long answer"
    elif answer is None or exchange.no_head:
        yield f"{what}: {exchange.no_head}"
    elif answer.status != 200 and what in _NEEDED and exchange not in session.refusable:
        yield f"{what}: status {answer.status} {shown(answer.reason)}".rstrip()
    elif answer.missing and exchange.end == "closed":
        announced = f"{answer.missing} bytes before the end that Content-Length announced"
        yield f"{what}: the connection ended {announced if 'content-length' in answer.fields else 'within the chunks'}"
    elif answer.surplus:
        yield f"{what}: {answer.surplus} bytes more than Content-Length announced"
