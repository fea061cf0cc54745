"""Answers as bytes, and the raw dialogue as text."""

import pytest

from gamemaster.check.exchange import (
    Address,
    Answer,
    End,
    Exchange,
    Request,
    address_of,
    chunked,
    ordinary,
    read_answer,
    transcript,
)
from gamemaster.faults import Fault
from ggp.protocol.messages import Dialect

HEAD = b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n"


def exchange(received: bytes, end: End = "answered", sent: bytes = b"( INFO )") -> Exchange:
    return Exchange(Request("INFO", (sent,), 2.0), received, end, "", 0.0, 0.5, is_closed=True)


@pytest.mark.parametrize(
    ("data", "ended", "body"),
    [
        (HEAD + b"ready", False, b"ready"),
        (HEAD + b"ready, and more", False, b"ready"),
        (HEAD + b"rea", True, b"rea"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + HEAD + b"ready", False, b"ready"),
        (b"HTTP/1.0 200 OK\n\nready", True, b"ready"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nre\r\n3;x\r\nady\r\n0\r\n\r\n", False, b"ready"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nready", True, b"ready"),
        (b"ready", True, b"ready"),
        (b"HTTP/1.0 200 OK\r\nno end of the head", True, b"HTTP/1.0 200 OK\r\nno end of the head"),
    ],
)
def test_an_answer_is_read(data: bytes, ended: bool, body: bytes) -> None:
    answer = read_answer(data, ended=ended)
    assert answer is not None
    assert answer.body == body


@pytest.mark.parametrize(
    "data",
    [b"", b"HT", HEAD[:-2], HEAD + b"rea", b"HTTP/1.0 200 OK\r\n\r\nrea", b"re"]
    + [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + start for start in (b"", b"5\r\nrea", b"2\r\nre\r\n")
    ],
)
def test_more_of_an_answer_must_follow(data: bytes) -> None:
    assert read_answer(data, ended=False) is None


def test_what_was_announced_is_compared_with_what_came() -> None:
    assert read_answer(HEAD + b"ready!!", ended=False) == Answer(200, "OK", {"content-length": "5"}, b"ready", 2, 0)
    assert read_answer(HEAD + b"rea", ended=True) == Answer(200, "OK", {"content-length": "5"}, b"rea", 0, 2)


@pytest.mark.parametrize(
    ("received", "end", "kind", "detail"),
    [
        (b"", "silent", "timeout", "no complete answer within 2 s"),
        (b"", "closed", "unreachable", "the connection ended before an answer"),
        (HEAD + b"rea", "closed", "unreachable", "the connection ended before the answer was complete"),
        (b"HTTP/1.0 404 Not Found\r\n\r\n", "answered", "malformed", "HTTP status 404 Not Found"),
        (HEAD[:-4] + b"\r\n\r\nr\xe9ady"[:9], "answered", "malformed", "byte 1 of the answer, 0xe9, is not UTF-8"),
        (b"hello", "answered", "malformed", "the answer is not HTTP"),
    ],
)
def test_words_that_cannot_be_had_are_a_fault(received: bytes, end: End, kind: str, detail: str) -> None:
    fault = exchange(received, end).words
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.detail) == (kind, detail)


def test_a_dialogue_shows_everything_but_obeys_nothing() -> None:
    hostile = exchange(HEAD + b"r\x1b[2J\xff", sent=b"POST / HTTP/1.0\r\n\r\n( INFO\x07 )")
    assert list(transcript(hostile)) == [
        "# INFO",
        "> POST / HTTP/1.0",
        ">",
        "> ( INFO\\x07 )",
        "< HTTP/1.0 200 OK",
        "< Content-Length: 5",
        "<",
        "< r\\x1b[2J\\xff",
        "# answered after 0.500 s",
    ]


def test_endless_lines_are_cut() -> None:
    line = list(transcript(exchange(b"x" * 50_000)))[2]
    assert len(line) < 10_100
    assert line.endswith("x… (50000 characters)")


@pytest.mark.parametrize(
    ("url", "address", "authority"),
    [
        ("http://host:1/", Address("host", 1, "/"), "host:1"),
        ("http://[::1]:9000/a?b=c", Address("::1", 9000, "/a?b=c"), "[::1]:9000"),
    ],
)
def test_an_address_is_taken_from_a_url(url: str, address: Address, authority: str) -> None:
    assert address_of(url) == address
    assert address.authority == authority


def test_requests_are_those_of_the_game_masters() -> None:
    address = Address("host", 1, "/")
    assert ordinary(address, "( INFO )", Dialect.GGP_BASE, "x").split(b"\r\n") == [
        b"POST / HTTP/1.0",
        b"Host: host:1",
        b"Accept: text/delim",
        b"Sender: GAMESERVER",
        b"Receiver: x",
        b"Content-Type: text/acl",
        b"Content-Length: 8",
        b"",
        b"( INFO )",
    ]
    assert b"\r\nSender: Gamecontroller\r\n" in ordinary(address, "(INFO)", Dialect.DRESDEN, "x")
    assert chunked(address, b"( INFO )").endswith(b"\r\n\r\n4\r\n( IN\r\n4\r\nFO )\r\n0\r\n\r\n")
