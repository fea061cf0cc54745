"""Requests that are odd, or messages that are none: whether they are understood or refused, and survived."""

from urllib.parse import quote_plus

from gamemaster.check.dialogue import Address, held_open
from gamemaster.check.findings import ACCIDENT, Judgement, bad, better, good, heard, is_accident, word_of
from gamemaster.check.requests import chunked, head, ordinary, request
from gamemaster.check.rulesheets import LETTERS, LETTERS_ROLE
from gamemaster.check.visit import GRACE, INFO_WAIT, Visit, Wrap
from ggp.protocol.headers import CONTENT_TYPE, request_headers
from ggp.protocol.messages import Start, format_message
from ggp.protocol.replies import READY

_HUGE = 2**18  # words
_HUGE_WAIT = 3.0  # seconds beyond the usual for a message that takes so long to read
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
        "deep message": b"( PLAY %b " % match + b"(" * _DEEP + b")" * _DEEP + b" )",
        "rules without meaning": b"( START %b solo ((role solo) (<= (legal solo ?x) (not (true ?y)))) 2 2)" % match,
        "unknown role": b"( START %b nobody ((role solo) (init a) (legal solo b) (<= terminal (true c))) 2 2)" % match,
    }


async def odd_request(visit: Visit, name: str) -> Judgement:
    """A sound message in a request of another form."""
    await visit.give_up()
    exchange, understood = await visit.ask_anything(name, wrappings(visit.address)[name])
    judgement = good(heard(exchange)) if understood else better(heard(exchange))
    return await _survived(visit, judgement)


async def no_message(visit: Visit, name: str) -> Judgement:
    """Something that means nothing; it is best refused at once, and never kept."""
    await visit.give_up()
    match = visit.new_name()
    body = malformed(match)[name]
    is_start = body.startswith(b"( START")
    allowed = visit.settings.startclock + GRACE if is_start else INFO_WAIT + (_HUGE_WAIT if len(body) > _HUGE else 0)
    headers = request_headers("player") | {"Content-Type": CONTENT_TYPE}
    exchange = await visit.send(name, (request(visit.address, body, headers),), allowed)
    judgement = good(heard(exchange)) if exchange.end == "answered" else better(heard(exchange))
    if is_accident(exchange):
        judgement = better(f"{judgement.seen}; {ACCIDENT}")
    if word_of(exchange) == READY:
        judgement = better(f"{judgement.seen}, although it cannot be")
    if is_start and not visit.lost:
        await visit.dismiss(match)
    return await _survived(visit, judgement)


async def length_in_characters(visit: Visit) -> Judgement:
    """A length that counts characters where it should count bytes, as ggp-base does."""
    await visit.give_up()
    name = visit.new_name()
    clock = visit.settings.startclock
    text = format_message(Start(name, LETTERS_ROLE, LETTERS.strip(), clock, visit.settings.playclock))
    headers = request_headers("player") | {"Content-Type": CONTENT_TYPE}
    data = request(visit.address, text.encode(), headers, length=len(text))
    exchange = await visit.send("START, its length in characters", (data,), clock + GRACE)
    judgement = good(heard(exchange)) if word_of(exchange) == READY else better(heard(exchange))
    if not visit.lost:
        await visit.dismiss(name)
    return await _survived(visit, judgement)


async def silent_connection(visit: Visit) -> Judgement:
    """Somebody connects and says nothing."""
    return await _beside(visit, b"")


async def half_request(visit: Visit) -> Judgement:
    """Somebody connects and says half of what it announced."""
    data = ordinary(visit.address, f"( PLAY {visit.new_name()} NIL )", visit.dialect, "player")
    return await _beside(visit, data[:-5])


async def _beside(visit: Visit, data: bytes) -> Judgement:
    """A question while another connection is open."""
    await visit.give_up()
    async with held_open(visit.address, data):
        exchange, understood = await visit.ask_anything("asked beside another connection")
    judgement = good(f"others are answered: {heard(exchange)}") if understood else better(f"others: {heard(exchange)}")
    return await _survived(visit, judgement)


async def _survived(visit: Visit, judgement: Judgement) -> Judgement:
    """Bad when the player is not what it was before."""
    trouble = await visit.trouble()
    return bad(f"{judgement.seen}; then {trouble}") if trouble else judgement


def _get(address: Address, body: bytes) -> bytes:
    line = head(address, {"Host": address.authority}).partition(b"\r\n")[2]
    return f"GET {address.target.rstrip('/')}/{quote_plus(body)} HTTP/1.0\r\n".encode() + line
