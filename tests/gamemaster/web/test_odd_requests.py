"""Requests that no browser sends: refused with a 4xx, whatever they are, and closed if they do not arrive."""

import asyncio
import gzip
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from gamemaster.web.api.document import OPERATIONS
from gamemaster.web.api.operations import ROOT
from gamemaster.web.settings import Limits
from tests.gamemaster.web.api_client import PATIENCE, ApiClient
from tests.gamemaster.web.conftest import Serve

PAGES = (
    "/", "/boards.css", "/games", "/games/new", "/games/{game}", "/matches", "/matches/{match}", "/play",
    "/play/{link}", "/endpoints/{link}", "/tournaments", "/tournaments/{tournament}", "/new-tournament",
    "/token", "/api", "/static/{name}", "/nowhere/{name}",
)  # fmt: skip
NAMES = (
    "a" * 5000,
    "%ff%fe",
    "%00",
    "%F0%9F%8E%B2" * 50,
    "%ed%a0%80",  # half of a surrogate pair
    "..%2f..%2fetc%2fpasswd",
    "a%2Fb",
    "-1",
    "1e400",
    "9" * 400,
    ".",
    "%",
    "%zz",
    "con~",
    "~",
    "{game}",
    "a;b=c",
)
QUERIES = ("%ff=%ff", "step=%ff", "step=-1", "step=" + "9" * 500, "match=%ed%a0%80", "limit=%00", "first=1e400",
           "search=%ff", "game=" + "%F0%9F%8E%B2" * 300, "last=%ff", "&&&=&", "example=1&example=2")  # fmt: skip
HEADERS = (
    b"Cookie: ggp-token=\xff\xfe",
    b"Cookie: \xff=\xff; ggp-began-x=\xed\xa0\x80",
    b"Cookie: " + b"a=b;" * 1500,
    b'Cookie: ggp-token="\\377',
    b"Authorization: Bearer \xff\xfe",
    b"Authorization: Bearer \xed\xa0\x80",
    b"Authorization: " + b"x" * 7000,
    b"Authorization: Basic \xff",
    b"X-Forwarded-For: \xff, 1.2.3.4",
    b"X-Forwarded-For: " + b"1.2.3.4," * 800,
    b"Origin: http://[\xff",
    b"Origin: \xff",
    b"Sec-Fetch-Site: \xff",
    b"Last-Event-ID: \xff-1",
    b"Last-Event-ID: x-\xb2\xb3",
    b"Accept: \xff",
    b"Range: bytes=\xff-",
    b"Range: bytes=9-1",
    b"Range: bytes=-",
    b"If-Modified-Since: \xff",
    b"If-Modified-Since: Sat, 99 Foo 99999 99:99:99 GMT",
    b"If-None-Match: \xff",
    b"If-Range: \xff",
    b"Accept-Encoding: \xff",
    b"Connection: \xff",
    b"Upgrade: websocket\r\nConnection: Upgrade",
    b"Expect: 100-continue",
    b"Expect: \xff",
)
BODIES = (
    (b"Content-Type: application/json", b'{"a": ' + b"[" * 50_000),
    (b"Content-Type: application/json", b"\xff\xfe"),
    (b"Content-Type: application/json", b'"\\ud800"'),
    (b"Content-Type: application/json; charset=nonsense", b"{}"),
    (b"Content-Type: application/json; charset=\xff", b"{}"),
    (b"Content-Type: \xff/\xff; a=b;;;", b"{}"),
    (b"Content-Type: application/json\r\nContent-Encoding: gzip", b"this is none"),
    (b"Content-Type: application/json\r\nContent-Encoding: deflate", b"\xff" * 100),
    (b"Content-Type: application/json\r\nContent-Encoding: gzip", gzip.compress(b" " * 50_000_000)),
    (b"Content-Type: application/json\r\nContent-Encoding: nonsense", b"{}"),
    (b"Content-Type: application/x-www-form-urlencoded; charset=nonsense", b"token=a"),
    (b"Content-Type: application/x-www-form-urlencoded", b"token=%ff&rulesheet=%ff&name=%00&do=keep"),
    (b"Content-Type: application/x-www-form-urlencoded\r\nContent-Encoding: gzip", b"this is none"),
    (b"Content-Type: application/x-www-form-urlencoded", b"rulesheet=%ed%a0%80&do=keep"),
    (b"Content-Type: multipart/form-data", b"--x\r\n\r\n"),
    (b"Content-Type: multipart/form-data; boundary=x", b"--x\r\nContent-Disposition: form-data; name=token\r\n\r\na"),
    (b"Content-Type: multipart/form-data; boundary=x", b"nothing"),
    (b"Content-Type: multipart/form-data; boundary=x",
     b'--x\r\nContent-Disposition: form-data; name="token"; filename="a"\r\n\r\n\xff\r\n--x--\r\n'),
    (b"Content-Type: multipart/form-data; boundary=x",
     b'--x\r\nContent-Disposition: form-data; name="token"\r\nContent-Type: text/plain; charset=nonsense\r\n\r\na'
     b"\r\n--x--\r\n"),
    (b"Content-Type: multipart/form-data; boundary=" + b"x" * 300, b"--x--"),
)  # fmt: skip
RAW = (
    b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
    b"\xff\xfe / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET http://localhost/api/v1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET //evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET http://[bad/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"TRACE / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"PROPFIND /matches HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: \xff\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /?\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /static/../../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"POST /token HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    b"POST /token HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    b"POST /token HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n",
    b"POST /token HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\nhello",
    b"POST /token HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: nonsense\r\n\r\n",
)
PLENTY = Limits(workers=1, writes=10_000.0, writes_at_once=10_000, reads=10_000.0, reads_at_once=10_000)


def paths(name: str) -> Iterator[tuple[str, str]]:
    """Every route with something in the place of each of its names."""
    yield from (
        ("GET", page.format_map(dict.fromkeys(("game", "match", "link", "tournament", "name"), name))) for page in PAGES
    )
    for operation in OPERATIONS:
        where = operation.path.format_map(dict.fromkeys(("game", "match", "link", "tournament", "step"), name))
        yield operation.method, ROOT + where


async def status_of(client: ApiClient, data: bytes) -> int:
    """Of the answer to these bytes; 400 where the connection is closed without one."""
    url = client.http.make_url("/")
    reader, writer = await asyncio.open_connection(url.host, url.port)
    try:
        async with asyncio.timeout(PATIENCE):
            writer.write(data)
            line = await reader.readline()
            if line.startswith(b"HTTP/1.1 100"):
                await reader.readline()
                line = await reader.readline()
        return int(line.split()[1]) if line else 400
    except ConnectionError:
        return 400
    finally:
        writer.close()


def request(method: str, path: str, *headers: bytes, body: bytes = b"") -> bytes:
    lines = [f"{method} {path} HTTP/1.1".encode(), b"Host: localhost", *headers, b"Connection: close"]
    if method == "POST":
        lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


@pytest.mark.parametrize("name", NAMES, ids=lambda name: name[:12])
async def test_names_that_are_none(serve: Serve, name: str) -> None:
    client = await serve(PLENTY)
    for method, path in paths(name):
        if not path.endswith("/events") and path != f"{ROOT}/events":
            assert await status_of(client, request(method, path)) < 500, path[:80]


async def test_queries_that_are_none(serve: Serve) -> None:
    client = await serve(PLENTY)
    for query in QUERIES:
        for method, path in paths("tictactoe"):
            if method == "GET" and not path.endswith(("/events", "/engine")):
                assert await status_of(client, request("GET", f"{path}?{query}")) < 500, (path, query)


@pytest.mark.parametrize("header", HEADERS, ids=lambda header: header[:24])
async def test_headers_that_are_no_text(serve: Serve, header: bytes) -> None:
    client = await serve(PLENTY, operator_token="correct-horse-operator", token="correct-horse-battery", host="0.0.0.0")
    for path in ("/", "/static/style.css", "/token", "/matches/x", f"{ROOT}/matches", f"{ROOT}/matches/x"):
        assert await status_of(client, request("GET", path, header)) < 500, path
    for path in (f"{ROOT}/matches/x/end", f"{ROOT}/games", "/token"):
        assert await status_of(client, request("POST", path, header, body=b"{}")) < 500, path


@pytest.mark.parametrize(("header", "body"), BODIES, ids=range(len(BODIES)))
async def test_bodies_that_are_none(serve: Serve, header: bytes, body: bytes) -> None:
    client = await serve(PLENTY)
    posts = [f"{ROOT}{operation.path}" for operation in OPERATIONS if operation.method == "POST"]
    for path in ("/token", "/games/new", *posts):
        where = quote(path.format_map(dict.fromkeys(("match", "link", "tournament"), "x") | {"step": "0"}))
        assert await status_of(client, request("POST", where, header, body=body)) < 500, path


@pytest.mark.parametrize("data", RAW, ids=range(len(RAW)))
async def test_requests_that_are_no_http(client: ApiClient, data: bytes) -> None:
    assert await status_of(client, data) < 500
