"""Messages that come at the wrong moment: what a player makes of them, and whether its match goes on."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from gamemaster.check.dialogue import Exchange
from gamemaster.check.findings import ACCIDENT, Judgement, bad, better, good, heard, is_accident, not_tried, word_of
from gamemaster.check.matches import begun, holds
from gamemaster.check.rulesheets import PLAIN, PLAIN_MOVES, PLAIN_ROLE
from gamemaster.check.trial import Trial
from gamemaster.check.visit import GRACE, INFO_LATE, INFO_WAIT, LATE, Visit, info_of
from ggp.errors import MessageError
from ggp.gdl.terms import Term
from ggp.protocol.messages import Abort, Info, Message, Play, Preview, Start, Stop, format_message
from ggp.protocol.replies import BUSY, NO_MOVE, READY, parse_move

FIRST_STEPS = 2  # before a disturbance; after one, a player that begins anew may still be right by chance
Disturbance = Callable[[Visit, Trial], Awaitable[Judgement]]


async def disturbed(visit: Visit, disturb: Disturbance) -> Judgement:
    """What a player makes of something in the middle of a match; bad when the match suffers."""
    trial = await _running(visit)
    if isinstance(trial, Judgement):
        return trial
    judgement = await disturb(visit, trial)
    if visit.lost:
        return bad(f"{judgement.seen}; then {visit.lost}")
    if trial.is_over:
        return judgement
    asked = await trial.play()
    if holds(visit, asked):
        return judgement
    await visit.give_up()
    return bad(f"{judgement.seen}; then the match that was running went wrong: {asked.text}")


async def info_in_match(visit: Visit, _: Trial) -> Judgement:
    if visit.info is None:
        return not_tried("INFO is not answered")
    return _judge_info_in_match(await visit.tell(format_message(Info(), visit.dialect), INFO_WAIT + INFO_LATE))


async def info_beside_play(visit: Visit, trial: Trial) -> Judgement:
    """INFO and PLAY at the same time."""
    if visit.info is None:
        return not_tried("INFO is not answered")
    text = format_message(Info(), visit.dialect)
    async with asyncio.TaskGroup() as group:
        playing = group.create_task(trial.play())
        asking = group.create_task(visit.tell(text, visit.settings.playclock + GRACE + LATE))
    exchange, asked = asking.result(), playing.result()
    if not holds(visit, asked):
        return bad(f"INFO: {heard(exchange)}; PLAY: {asked.text}")
    if exchange.end != "answered" or exchange.seconds > INFO_WAIT:
        return better(f"{heard(exchange)}; one connection at a time, it seems")
    return good(heard(exchange))


async def second_start(visit: Visit, _: Trial) -> Judgement:
    """START of another match: busy, or both are played."""
    name = visit.new_name()
    clock = visit.settings.startclock
    start = Start(name, PLAIN_ROLE, PLAIN.strip(), clock, visit.settings.playclock)
    exchange = await _say(visit, start, clock + GRACE + LATE)
    word = word_of(exchange)
    if word == BUSY:
        return good(heard(exchange))
    if word != READY:
        return better(f"{heard(exchange)}, not 'busy'")
    play = await _say(visit, Play(name, None), visit.settings.playclock + GRACE + LATE)
    await visit.dismiss(name)
    if _move_of(play) in PLAIN_MOVES:
        return good(f"{heard(exchange)}, and it plays both")
    return bad(f"{heard(exchange)}, but it does not play: PLAY was answered {heard(play)}")


async def start_again(_: Visit, trial: Trial) -> Judgement:
    """The same START once more, as after a lost answer."""
    exchange = await trial.start_again()
    return good(heard(exchange)) if word_of(exchange) in (READY, BUSY) else better(heard(exchange))


async def play_of_another(visit: Visit, _: Trial) -> Judgement:
    return _busy_is_good(await _say(visit, Play(visit.new_name(), None), visit.settings.playclock + GRACE + LATE))


async def stop_of_another(visit: Visit, _: Trial) -> Judgement:
    return _busy_is_good(await _say(visit, Stop(visit.new_name(), None), visit.settings.playclock + GRACE + LATE))


async def abort_of_another(visit: Visit, _: Trial) -> Judgement:
    return _busy_is_good(await _say(visit, Abort(visit.new_name()), INFO_WAIT + LATE))


async def play_repeated(visit: Visit) -> Judgement:
    """The first PLAY twice, and the second one, too."""
    trial = await begun(visit)
    if isinstance(trial, Judgement):
        return trial
    seen: list[str] = []
    verdicts: set[str] = set()
    for _ in range(2):
        if trial.is_over or visit.lost:
            break
        await trial.play()
        exchange = await trial.play_again()
        same = trial.repeats(exchange)
        known = same or trial.was_legal(exchange)
        verdicts.add("good" if same else "could be better")
        seen.append(f"{heard(exchange)}{', the same move' if same else '' if known else ', not legal in that step'}")
    if not trial.is_over and not visit.lost:
        asked = await trial.play()
        if not holds(visit, asked):
            verdicts.add("could be better")
            seen.append(f"it takes a repetition for a new step, {asked.text}")
    await visit.give_up()
    return (good if verdicts == {"good"} else better)("; ".join(seen))


async def play_left_out(visit: Visit) -> Judgement:
    """One PLAY is missing, so that the next one speaks of a step that the player does not know."""
    trial = await begun(visit)
    if isinstance(trial, Judgement):
        return trial
    await trial.play()
    if not trial.is_over:
        await trial.leave_out()
    if trial.is_over:
        await visit.give_up()
        return not_tried("the match was too short")
    asked = await trial.play()
    await visit.give_up()
    exchange = asked.exchange
    if exchange.end != "answered" or exchange.seconds > visit.settings.playclock + GRACE:
        return better(f"{heard(exchange)}; the game master waits for its whole clock")
    return better(f"{heard(exchange)}; {ACCIDENT}") if is_accident(exchange) else good(heard(exchange))


async def play_without_start(visit: Visit) -> Judgement:
    """PLAY while no match is running."""
    await visit.give_up()
    return _busy_is_good(await _say(visit, Play(visit.new_name(), None), visit.settings.playclock + GRACE + LATE))


async def play_after_stop(visit: Visit) -> Judgement:
    """A PLAY that comes after the end of its match."""
    trial = await begun(visit)
    if isinstance(trial, Judgement):
        return trial
    await trial.play()
    await trial.stop()
    return _busy_is_good(await trial.play_again())


async def preview(visit: Visit) -> Judgement:
    """Rules to think about, with no match."""
    await visit.give_up()
    exchange = await _say(visit, Preview(PLAIN.strip(), visit.settings.startclock), visit.settings.startclock + GRACE)
    if word_of(exchange) in (READY, BUSY):
        return good(heard(exchange))
    return better(f"{heard(exchange)}; hardly any player knows it")


async def _running(visit: Visit) -> Trial | Judgement:
    """The match that is running, or a new one, after its first steps where it has more."""
    running = visit.match
    if isinstance(running, Trial):
        if not running.is_over:
            return running
        await running.stop()
    trial = await begun(visit)
    if isinstance(trial, Judgement):
        return trial
    for _ in range(FIRST_STEPS):
        asked = await trial.play()
        if not holds(visit, asked):
            await visit.give_up()
            return bad(f"the match does not even begin: {asked.text}")
        if trial.is_over:
            await trial.stop()
            return await begun(visit)
    return trial


async def _say(visit: Visit, message: Message, allowed: float) -> Exchange:
    return await visit.tell(format_message(message, visit.dialect), allowed)


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


def _busy_is_good(exchange: Exchange) -> Judgement:
    word = word_of(exchange)
    if word in (BUSY, NO_MOVE):
        return good(heard(exchange))
    return better(f"{heard(exchange)}, not 'busy'")
