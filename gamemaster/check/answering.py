"""What remains to be said at the end: the form of all answers, and whether the player still plays."""

from collections.abc import Iterator

from gamemaster.check.dialogue import Exchange
from gamemaster.check.findings import Judgement, bad, better, good, not_tried
from gamemaster.check.matches import begun, holds
from gamemaster.check.visit import Visit
from gamemaster.faults import shown

_NEEDED = frozenset({"START", "PLAY", "STOP"})  # what every player knows


async def judge_answers(visit: Visit) -> Judgement:
    """All answers to ordinary requests as HTTP; sends nothing."""
    came = [exchange for exchange in visit.ordinary if exchange.received]
    if not came:
        return not_tried("there was no answer")
    faults = list(dict.fromkeys(fault for exchange in came for fault in _faults(exchange)))
    if faults:
        return bad("; ".join(faults))
    answers = [exchange.answer for exchange in came]
    if not all(answer is not None and answer.has_length for answer in answers):
        return better("some without Content-Length, so that a connection that breaks cannot be told from the end")
    return good(f"{len(came)} answers, all sound")


async def still_plays(visit: Visit) -> Judgement:
    """A match begins as in the beginning."""
    trial = await begun(visit)
    if isinstance(trial, Judgement):
        return trial
    asked = await trial.play()
    await visit.give_up()
    return good(asked.text) if holds(visit, asked) else bad(asked.text)


def _faults(exchange: Exchange) -> Iterator[str]:
    """What is wrong with the HTTP of an answer."""
    answer = exchange.answer
    what = exchange.request.what
    if exchange.end == "flooded":
        yield f"{what}: a very long answer"
    elif answer is None or answer.status == 0:
        yield f"{what}: not HTTP"
    elif answer.status != 200 and what in _NEEDED:
        yield f"{what}: status {answer.status} {shown(answer.reason)}".rstrip()
    elif answer.missing and exchange.end == "closed":
        yield f"{what}: the connection ended {answer.missing} bytes before the end that Content-Length announced"
    elif answer.surplus:
        yield f"{what}: {answer.surplus} bytes more than Content-Length announced"
