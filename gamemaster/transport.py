"""Asking a player over HTTP: a message in, its answer or a fault out, and the seconds that it took."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TypeAlias

import aiohttp

from gamemaster.faults import LONGEST_TEXT, Fault, make_fault, shown
from ggp.protocol.evaluation import HEADER, WANTED
from ggp.protocol.headers import CONTENT_TYPE, request_headers

Session: TypeAlias = aiohttp.ClientSession


@dataclass(frozen=True, slots=True)
class Question:
    """A message for one player, and how long and how much it may answer."""

    url: str
    receiver: str
    text: str
    allowed: float  # seconds from the first attempt to connect to the last byte of the answer
    max_bytes: int
    retry: float | None = None  # seconds between attempts while no connection can be made; None for one attempt
    wants_evaluation: bool = False  # whether the player may say what it thinks, beside its answer


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a question."""

    answer: str | Fault
    seconds: float
    evaluation: str | None = None  # what the player says that it thinks; nobody has looked at it yet


@dataclass(slots=True)
class _Progress:
    """How far a question has come when its time is over."""

    connected: bool = False
    obstacle: OSError | None = None  # why the last attempt to connect failed
    evaluation: str | None = None  # as it was sent


@asynccontextmanager
async def open_session() -> AsyncIterator[Session]:
    """What questions are asked through: HTTP/1.0, one connection for each message, no clock but the question's own."""
    trace = aiohttp.TraceConfig()
    trace.on_request_headers_sent.append(_note_connection)
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(force_close=True, limit=0),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None),
        version=aiohttp.HttpVersion10,
        auto_decompress=False,
        skip_auto_headers=("User-Agent", "Accept-Encoding"),
        trace_configs=[trace],
    ) as session:
        yield session


async def ask(session: Session, question: Question) -> Reply:
    """One question; whatever goes wrong is a fault, never an exception."""
    clock = asyncio.get_running_loop().time
    began = clock()
    progress = _Progress()
    answer: str | Fault
    try:
        async with asyncio.timeout_at(began + question.allowed) as limit:
            answer = await _exchange(session, question, progress)
    except TimeoutError as error:
        answer = _too_late(question, progress) if limit.expired() else _unreachable(error)
    except aiohttp.ClientResponseError as error:
        answer = make_fault("malformed", f"the answer is not HTTP: {_first_line(error.message)}")
    except (OSError, aiohttp.ClientError) as error:
        answer = _unreachable(error)
    except UnicodeError:  # a host name that the resolver cannot spell
        answer = make_fault("unreachable", "no connection: the host name is not valid")
    return Reply(answer, clock() - began, None if isinstance(answer, Fault) else progress.evaluation)


async def ask_all(session: Session, questions: Mapping[str, Question]) -> dict[str, Reply]:
    """Role → reply, all asked at once; each has its own clock, and no answer or failure touches another's."""
    async with asyncio.TaskGroup() as group:
        tasks = {role: group.create_task(ask(session, question)) for role, question in questions.items()}
    return {role: task.result() for role, task in tasks.items()}


async def _exchange(session: Session, question: Question, progress: _Progress) -> str | Fault:
    while True:
        try:
            return await _post(session, question, progress)
        except aiohttp.ClientConnectorError as error:
            if question.retry is None:
                raise
            progress.obstacle = error
        await asyncio.sleep(question.retry)


async def _post(session: Session, question: Question, progress: _Progress) -> str | Fault:
    headers = request_headers(_header_value(question.receiver)) | {"Content-Type": CONTENT_TYPE}
    async with session.post(
        question.url,
        data=question.text.encode(),
        headers=headers | ({HEADER: WANTED} if question.wants_evaluation else {}),
        allow_redirects=False,
        trace_request_ctx=progress,
    ) as response:
        if response.status != 200:
            return make_fault("malformed", f"HTTP status {response.status} {response.reason or ''}")
        body = bytearray()
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > question.max_bytes:
                response.close()  # at once, so that nothing more is received
                start = body[:LONGEST_TEXT].decode(errors="replace")
                return make_fault("malformed", f"an answer of more than {question.max_bytes} bytes", start)
        if question.wants_evaluation:
            progress.evaluation = response.headers.get(HEADER)
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        detail = f"byte {error.start} of the answer, 0x{body[error.start]:02x}, is not UTF-8"
        return make_fault("malformed", detail, body.decode(errors="replace"))


async def _note_connection(_: Session, context: SimpleNamespace, __: aiohttp.TraceRequestHeadersSentParams) -> None:
    progress = context.trace_request_ctx
    assert isinstance(progress, _Progress)
    progress.connected = True


def _too_late(question: Question, progress: _Progress) -> Fault:
    if progress.connected:
        return make_fault("timeout", f"no complete answer within {question.allowed:g} s")
    if progress.obstacle is not None:
        return make_fault("unreachable", f"no connection within {question.allowed:g} s: {_plain(progress.obstacle)}")
    return make_fault("unreachable", f"no connection within {question.allowed:g} s")


def _unreachable(error: OSError | aiohttp.ClientError) -> Fault:
    match error:
        case aiohttp.ClientConnectorError():
            return make_fault("unreachable", f"no connection: {_plain(error)}")
        case aiohttp.ClientPayloadError():
            return make_fault("unreachable", "the connection ended before the answer was complete")
        case aiohttp.ServerDisconnectedError():
            return make_fault("unreachable", "the connection ended before an answer")
    return make_fault("unreachable", f"the connection broke: {_plain(error)}")


def _plain(error: Exception) -> str:
    """The operating system's words, without those of the libraries in between."""
    if isinstance(error, aiohttp.ClientConnectorError):
        error = error.os_error
    if isinstance(error, OSError) and error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return str(getattr(error, "strerror", None) or error) or type(error).__name__


def _first_line(text: str) -> str:
    return text.partition("\n")[0].rstrip(" :")


def _header_value(name: str) -> str:
    return shown(name).encode("ascii", "replace").decode() or "player"
