"""What a check finds: its verdict, and what was seen."""

from dataclasses import dataclass
from typing import Literal, get_args

from gamemaster.check.exchange import RETRY, Exchange
from gamemaster.faults import Fault, shown
from ggp.errors import MessageError
from ggp.protocol.messages import parse_word

Verdict = Literal["good", "could be better", "bad", "not tried"]
ACCIDENT = "that looks like an accident"
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that is judged."""

    name: str
    why: str  # one sentence: why it matters


@dataclass(frozen=True, slots=True)
class Judgement:
    """How one check came out."""

    verdict: Verdict
    seen: str  # what was seen, or why it was not tried; one line, safe to print


@dataclass(frozen=True, slots=True)
class CheckResult:
    """A check with its judgement and what was said for it."""

    check: Check
    judgement: Judgement
    exchanges: tuple[Exchange, ...]


def good(seen: str) -> Judgement:
    """As it should be."""
    return Judgement("good", seen)


def better(seen: str) -> Judgement:
    """It works, but could be better."""
    return Judgement("could be better", seen)


def bad(seen: str) -> Judgement:
    """Matches would suffer."""
    return Judgement("bad", seen)


def not_tried(reason: str) -> Judgement:
    """It could not be judged."""
    return Judgement("not tried", reason)


def heard(exchange: Exchange) -> str:
    """What was answered and when, for a person."""
    words = exchange.words
    is_late = exchange.waited >= RETRY and exchange.end != "refused"
    delay = f", connected only after {exchange.waited:.1f} s" if is_late else ""
    if isinstance(words, Fault):
        answer = f" ({words.answer})" if words.answer else ""
        return f"{words.detail}{answer}{delay}"
    return f"{quoted(words)} after {exchange.seconds:.2f} s{delay}"


def is_accident(exchange: Exchange) -> bool:
    """Whether a player says itself that it failed."""
    answer = exchange.answer
    return answer is not None and answer.status == 500


def quoted(words: str) -> str:
    """An answer on one line, visible also when it is empty."""
    return f"'{text}'" if (text := shown(words)) else "an empty answer"


def word_of(exchange: Exchange) -> str | None:
    """The one word of an answer, in lower case; None when it is anything else."""
    words = exchange.words
    if isinstance(words, Fault):
        return None
    try:
        return parse_word(words)
    except MessageError:
        return None
