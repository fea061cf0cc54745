"""Matches as any game master runs them, and how the player does in them."""

from collections.abc import Sequence

import ggp
from gamemaster.check.dialogue import Exchange
from gamemaster.check.findings import Judgement, bad, better, good, heard, not_tried, word_of
from gamemaster.check.rulesheets import LETTERS, ODD_NAMES, PERCEPTS
from gamemaster.check.trial import Asked, Spell, Trial, taken_roles
from gamemaster.check.visit import GRACE, INFO_LATE, INFO_WAIT, Visit, info_of
from ggp.game import Game
from ggp.protocol.messages import Dialect, Info, format_message
from ggp.protocol.replies import ABORTED, BUSY, DONE, READY
from ggp.protocol.scramble import Scrambler

PATIENT_PLAYS = 2  # PLAYs in a row without any answer, after which a match is given up
SHORT = 3  # PLAYs of a match that only has to begin well
NEARLY_ALL = 0.95  # of a clock; who uses more is late on a slow network


async def first_contact(visit: Visit) -> Sequence[Judgement]:
    """The connection, and INFO."""
    exchange = await visit.tell(format_message(Info(), visit.dialect), INFO_WAIT + INFO_LATE, linger=INFO_WAIT)
    if visit.lost:
        return bad(visit.lost), not_tried(visit.lost)
    visit.info = info_of(exchange)
    stays_open = exchange.end == "answered" and not exchange.is_closed
    connection = better("it stays open after an answer to HTTP/1.0") if stays_open else good("connected")
    return connection, _judge_info(visit, exchange)


async def whole_match(visit: Visit, dialect: Dialect) -> Sequence[Judgement]:
    """START, moves, time and STOP of a whole match in a dialect."""
    roles = taken_roles(visit.game)
    trial = Trial(visit, visit.game, roles[0] if dialect is Dialect.GGP_BASE else roles[-1], dialect)
    start = await trial.start()
    started = judge_start(start, visit.settings.startclock)
    if visit.lost or word_of(start) == BUSY:
        visit.match = None
        visit.hindrance = visit.hindrance and f"START was answered {heard(start)}"
        return started, *[not_tried("no match was started")] * 3
    asked = await _play_on(visit, trial)
    _remember(visit, dialect, start, asked)
    if not trial.is_over:
        await visit.give_up()
        stopped = not_tried(_after_silence(visit))
    else:
        stopped = _judge_stop(await trial.stop(), visit.settings.playclock)
    return started, judge_moves(asked), _judge_time(asked, visit.settings.playclock), stopped


async def aborted_match(visit: Visit) -> Sequence[Judgement]:
    """ABORT in the middle of a match, and another START at once."""
    trial = await begun(visit)
    if isinstance(trial, Judgement):
        return trial, trial
    await trial.play()
    exchange = await trial.abort()
    visit.knows_abort = word_of(exchange) is not None
    again = Trial(visit, visit.game)
    start = await again.start()
    started = judge_start(start, visit.settings.startclock)
    if started.verdict != "bad":
        asked = await again.play()
        if not holds(visit, asked):
            started = bad(f"the new match is not played: {asked.text}")
    elif not visit.lost:
        await trial.stop()
    await visit.give_up()
    return _judge_abort(exchange), started


async def scrambled_match(visit: Visit) -> Judgement:
    """The same game in words that mean nothing."""
    return await short_match(visit, visit.game, scrambler=Scrambler(visit.game.rulesheet, visit.settings.seed))


async def match_of_odd_names(visit: Visit) -> Judgement:
    return await short_match(visit, small_game(ODD_NAMES))


async def match_of_letters(visit: Visit) -> Judgement:
    return _at_worst_better(await short_match(visit, small_game(LETTERS)))


async def match_of_percepts(visit: Visit) -> Judgement:
    """GDL-II, with the turn, the own move and the percepts in PLAY."""
    return await short_match(visit, small_game(PERCEPTS))


async def match_in_lower_case(visit: Visit) -> Judgement:
    return _at_worst_better(await short_match(visit, visit.game, spell=str.lower))


async def match_in_many_lines(visit: Visit) -> Judgement:
    def spread(text: str) -> str:
        return text.replace(" ", "\r\n\t ") + "\r\n"

    return _at_worst_better(await short_match(visit, visit.game, spell=spread))


async def short_match(visit: Visit, game: Game, scrambler: Scrambler | None = None, spell: Spell = str) -> Judgement:
    """The first steps of a match, given up after them unless it has ended."""
    trial = await begun(visit, game, scrambler, spell)
    if isinstance(trial, Judgement):
        return trial
    asked: list[Asked] = []
    while len(asked) < SHORT and not trial.is_over and not visit.lost:
        asked.append(await trial.play())
    if trial.is_over:
        await trial.stop()
    await visit.give_up()
    return judge_moves(asked)


async def begun(
    visit: Visit, game: Game | None = None, scrambler: Scrambler | None = None, spell: Spell = str
) -> Trial | Judgement:
    """A match that was started, or why there is none."""
    trial = Trial(visit, game or visit.game, scrambler=scrambler, spell=spell)
    start = await trial.start()
    if start.end == "answered" and word_of(start) != BUSY:
        return trial
    await visit.give_up()
    return bad(f"START was answered {heard(start)}" if start.end == "answered" else f"START: {heard(start)}")


def holds(visit: Visit, asked: Asked) -> bool:
    """Whether a move is as good as this player's moves in whole matches."""
    return asked.fault is None if visit.is_sound else asked.exchange.end == "answered"


def small_game(text: str) -> Game:
    """A game of this package."""
    return ggp.load_text(text.strip(), "check", "interpreter")


def judge_start(exchange: Exchange, clock: int) -> Judgement:
    """The answer to a START that nothing speaks against."""
    seen = heard(exchange)
    word = word_of(exchange)
    if exchange.end != "answered" or exchange.seconds > clock + GRACE:
        return bad(f"{seen}; the startclock is {clock} s")
    if word == BUSY:
        return bad(f"{seen}, although no other match of this check is running")
    if exchange.seconds > clock:
        return better(f"{seen}, later than the startclock of {clock} s")
    return good(seen) if word == READY else better(f"{seen}, not 'ready'")


def judge_moves(asked: Sequence[Asked]) -> Judgement:
    """Whether there were moves in time, and all legal."""
    faults = [each for each in asked if each.fault is not None]
    count = f"{len(asked)} move{'s' if len(asked) != 1 else ''}"
    if not faults:
        return good(f"{count}, all legal")
    return bad(f"{len(faults)} of {count} not accepted; {faults[0].text}")


def _judge_info(visit: Visit, exchange: Exchange) -> Judgement:
    seen = heard(exchange)
    info = visit.info
    if exchange.end != "answered":
        return better(f"{seen}; many players give none")
    if info is None:
        return better(f"{seen}, which says neither name nor status")
    if info.status == BUSY:
        return better(f"{seen}; is it in a match with somebody else?")
    if exchange.seconds > INFO_WAIT:
        return better(f"{seen}; game masters wait {INFO_WAIT:g} s")
    return good(seen)


async def _play_on(visit: Visit, trial: Trial) -> list[Asked]:
    """All steps, or as many as the player has answers for."""
    asked: list[Asked] = []
    while not trial.is_over and not visit.lost:
        asked.append(await trial.play())
        patience = PATIENT_PLAYS if visit.has_spoken else 1
        if all(each.exchange.end != "answered" for each in asked[-patience:]) and len(asked) >= patience:
            break
    return asked


def _remember(visit: Visit, dialect: Dialect, start: Exchange, asked: Sequence[Asked]) -> None:
    """Notes what later checks can build on."""
    if any(each.exchange.end == "answered" for each in asked):
        if visit.hindrance:
            visit.dialect = dialect
            visit.is_sound = all(each.fault is None for each in asked)
        visit.hindrance = ""
    elif visit.hindrance:
        visit.hindrance = "no PLAY was answered" if start.end == "answered" else "neither START nor PLAY was answered"
    if not visit.has_spoken:
        visit.lost = "it accepts connections, but has answered nothing"


def _after_silence(visit: Visit) -> str:
    return visit.lost or "the match was given up, because PLAY was not answered any more"


def _judge_time(asked: Sequence[Asked], clock: int) -> Judgement:
    times = [each.exchange.seconds for each in asked if each.exchange.end == "answered"]
    if not times:
        return bad("no PLAY was answered")
    longest = max(times)
    seen = f"at most {longest:.2f} s of {clock} s, {sum(times) / len(times):.2f} s on average"
    if longest > clock + GRACE or len(times) < len(asked):
        late = sum(time > clock + GRACE for time in times) + len(asked) - len(times)
        return bad(f"{late} of {len(asked)} answers too late or missing; {seen}")
    if longest > clock:
        return better(f"{seen}; only the grace of game masters saves it")
    return better(f"{seen}; a slow network would make it late") if longest > NEARLY_ALL * clock else good(seen)


def _judge_stop(exchange: Exchange, clock: int) -> Judgement:
    seen = heard(exchange)
    if exchange.end != "answered":
        return better(f"{seen}; it changes nothing, but the game master waits")
    if exchange.seconds > clock:
        return better(f"{seen}, later than the playclock of {clock} s")
    return good(seen) if word_of(exchange) == DONE else better(f"{seen}, not 'done'")


def _judge_abort(exchange: Exchange) -> Judgement:
    seen = heard(exchange)
    if exchange.end != "answered":
        return better(f"{seen}; many players give none")
    if exchange.seconds > INFO_WAIT:
        return better(f"{seen}; game masters wait {INFO_WAIT:g} s")
    return good(seen) if word_of(exchange) == ABORTED else better(f"{seen}, not 'aborted'")


def _at_worst_better(judgement: Judgement) -> Judgement:
    """Of what game masters hardly ever do."""
    return better(judgement.seen) if judgement.verdict == "bad" else judgement
