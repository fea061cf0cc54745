"""Whoever tries: names, origins, tokens, rates, sizes, paths, players' addresses, humans of others, hostile text."""

import asyncio
import json
import shutil
import socket
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin

import aiohttp
import pytest

import ggp
from gamemaster.record import RecordWriter, now
from gamemaster.web import application
from gamemaster.web.safety import HEADERS
from gamemaster.web.settings import Limits, ServeSettings, check_settings
from ggp.errors import SettingsError
from tests.gamemaster import games
from tests.gamemaster.matches import play
from tests.gamemaster.scripted import ScriptedPlayer, held_until, says, thinks
from tests.gamemaster.web.api_client import PATIENCE, ApiClient
from tests.gamemaster.web.conftest import Players, Serve
from tests.gamemaster.web.tournaments import growing

TOKEN = "correct-horse-battery"
ROLES = ("xplayer", "oplayer")
EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'`{{7*7}}"
ANN = {"kind": "human", "name": "Ann"}
PAGES = (
    "/",
    "/games",
    "/games/tictactoe",
    "/games/new",
    "/games/new?example=1",
    "/matches",
    "/play",
    "/tournaments",
    "/token",
    "/api",
    "/nowhere",
)


class Page(HTMLParser):
    """What of a page could run."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.dangers: list[str] = []
        self.words: list[str] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self._inside = tag
        if tag == "script" and not (given.get("src") or "").startswith("/static/js/"):
            self.dangers.append(f"<script {given}>")
        if tag in ("style", "iframe", "object", "embed", "base"):
            self.dangers.append(f"<{tag}>")
        for name, value in attrs:
            is_code = (
                name.startswith("on") or name == "style" or (value or "").strip().lower().startswith("javascript:")
            )
            is_elsewhere = name in ("src", "href", "action") and (value or "").startswith(("http:", "https:", "//"))
            if is_code or is_elsewhere:
                self.dangers.append(f"{name}={value}")

    def handle_data(self, data: str) -> None:
        if self._inside == "script" and data.strip():
            self.dangers.append(data)
        self.words.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""


async def test_all_answers_have_the_headers(client: ApiClient) -> None:
    for path in (*PAGES, "/api/v1", "/api/v1/nowhere", "/static/style.css", "/static/nowhere", "/boards.css"):
        async with client.http.get(path) as response:
            for name, value in HEADERS.items():
                assert response.headers[name] == value, path
    assert "unsafe" not in HEADERS["Content-Security-Policy"]


async def test_pages_have_nothing_that_the_policy_would_stop(client: ApiClient, players: Players) -> None:
    begun = await client.begin("tictactoe", await players("oplayer") | {"xplayer": ANN})
    await client.asked(begun["links"]["xplayer"])
    paths = [(path, 404 if path == "/nowhere" else 200) for path in PAGES]
    for path, status in [*paths, (begun["url"], 200), (begun["links"]["xplayer"], 200)]:
        assert Page(await client.page(path, status)).dangers == [], path
    await client.post(f"{begun['links']['xplayer']}/resign")


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "evil.example:8080", "", "[::1", "localhost.evil"]
)
async def test_other_names_lead_nowhere(client: ApiClient, host: str) -> None:
    for path in ("/", "/api/v1/games"):
        async with client.http.get(path, headers={"Host": host}) as response:
            assert response.status in (400, 421), host


@pytest.mark.parametrize("host", ["localhost", "localhost:8080", "127.0.0.1:1", "[::1]:8080", "named.example"])
async def test_own_names_are_good(serve: Serve, host: str) -> None:
    client = await serve(hosts=frozenset({"named.example"}))
    async with client.http.get("/api/v1", headers={"Host": host}) as response:
        assert response.status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://[bad"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
async def test_other_sites_may_not_write(client: ApiClient, headers: dict[str, str]) -> None:
    for path in ("/api/v1/rulesheets/check", "/games/new", "/token"):
        async with client.http.post(path, json={"rulesheet": "x"}, headers=headers) as response:
            assert response.status == 403, path


async def test_own_pages_may_write(client: ApiClient) -> None:
    origin = str(client.http.make_url("")).rstrip("/")
    headers = {"Origin": origin, "Sec-Fetch-Site": "same-origin"}
    async with client.http.post("/api/v1/rulesheets/check", json={"rulesheet": "x"}, headers=headers) as response:
        assert response.status == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
async def test_forms_of_other_sites_are_no_json(client: ApiClient, kind: str) -> None:
    data = json.dumps({"rulesheet": "x"}).encode()
    async with client.http.post("/api/v1/rulesheets/check", data=data, headers={"Content-Type": kind}) as response:
        assert response.status == 415
        assert response.content_type == "application/problem+json"


async def test_writing_needs_the_token(serve: Serve, players: Players) -> None:
    client = await serve(host="0.0.0.0", token=TOKEN)
    order = {"game": "tictactoe", "players": await players("oplayer") | {"xplayer": ANN}}
    paths = ("/matches", "/games", "/rulesheets/check", "/matches/x/end", "/matches/x/branches")
    for path in (*paths, "/matches/x/states/0/analysis"):
        for given in (
            {},
            {"Authorization": "Bearer wrong"},
            {"Authorization": TOKEN},
            {"Cookie": f"ggp-token={TOKEN}"},
        ):
            async with client.http.post(f"/api/v1{path}", json=order, headers=given) as response:
                assert response.status == 401, (path, given)
                assert response.headers["WWW-Authenticate"] == "Bearer"
    assert (await client.get(""))["may_write"] is False
    assert "give the operator" in await client.page("/play")
    begun = await client.post("/matches", order, 201, Authorization=f"Bearer {TOKEN}")
    link = begun["links"]["xplayer"]
    human = await client.asked(link)
    await client.post(f"{link}/move", {"move": "(mark 1 1)", "step": human["asked"]})  # the link is the right to it
    await client.post(f"{link}/resign")


async def test_a_browser_keeps_a_cookie_in_place_of_the_token(serve: Serve) -> None:
    client = await serve(host="0.0.0.0", token=TOKEN)
    async with client.http.post("/token", data={"token": "guess"}) as response:
        assert response.status == 403
        assert "Set-Cookie" not in response.headers
    async with client.http.post("/token", data={"token": TOKEN}, allow_redirects=False) as response:
        assert response.status == 303
        cookie = response.headers["Set-Cookie"]
    assert TOKEN not in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    given = {"Cookie": cookie.partition(";")[0]}
    async with client.http.post("/api/v1/rulesheets/check", json={"rulesheet": "x"}, headers=given) as response:
        assert response.status == 200


def test_an_open_service_without_a_token_does_not_start() -> None:
    for host in ("0.0.0.0", "::", "192.0.2.7", "ggp.example"):
        with pytest.raises(SettingsError, match="--token"):
            check_settings(ServeSettings(host=host))
    for token in ("short", "with blanks in it", "nül-nül-nül"):
        with pytest.raises(SettingsError, match="--token"):
            check_settings(ServeSettings(host="0.0.0.0", token=token))
    for host in ("127.0.0.1", "::1", "localhost", "127.8.9.10"):
        check_settings(ServeSettings(host=host))
    check_settings(ServeSettings(host="0.0.0.0", token=TOKEN))


@pytest.mark.parametrize("host", ["http://192.0.2.7", "192.0.2.7/", "a b", ""])
def test_hosts_that_could_never_be_met_are_refused(host: str) -> None:
    with pytest.raises(SettingsError, match="--allow-players: a host or host:port without http:// and path, not "):
        check_settings(ServeSettings(allowed_players=frozenset({host})))
    for name in (host, "ggp.example:8080"):
        with pytest.raises(SettingsError, match="--name: a host without http://, port and path, not "):
            check_settings(ServeSettings(hosts=frozenset({name})))
    fine = frozenset({"192.0.2.7", "ggp.example", "::1"})
    check_settings(ServeSettings(allowed_players=fine | {"192.0.2.7:9147", "[::1]:9147"}, hosts=fine))


async def test_bodies_have_a_limit(serve: Serve) -> None:
    client = await serve(Limits(workers=1, body_bytes=5000, rulesheet_bytes=1000))
    for path, body in (("/rulesheets/check", {"rulesheet": "x" * 1001}), ("/games", {"rulesheet": "x" * 6000})):
        problem = await client.post(path, body, 413)
        assert problem["status"] == 413
    async with client.http.post("/games/new", data={"rulesheet": "x" * 6000}) as response:
        assert response.status == 413


async def test_rates_have_a_limit(serve: Serve) -> None:
    client = await serve(Limits(workers=1, writes=0.01, writes_at_once=2, reads=0.01, reads_at_once=3))
    for _ in range(2):
        await client.post("/rulesheets/check", {"rulesheet": ""})
    async with client.http.post("/api/v1/rulesheets/check", json={"rulesheet": ""}) as response:
        assert response.status == 429
        assert int(response.headers["Retry-After"]) >= 1
    for _ in range(3):
        await client.get("/games")
    await client.get("/games", 429)


async def test_listeners_have_a_limit(serve: Serve) -> None:
    client = await serve(Limits(workers=1, listeners=1))
    async with client.events("/events"), client.http.get("/api/v1/events") as response:
        assert response.status == 503
    status = 503
    async with asyncio.timeout(PATIENCE):
        while status == 503:  # until it is seen that the first one has gone
            async with client.http.get("/api/v1/events") as response:
                status = response.status
    assert status == 200


ESCAPES = (
    "..%2Foutside",
    "..%2F..%2Fetc%2Fpasswd",
    "%2Fetc%2Fpasswd",
    "linked",
    "rulesheets",
    ".hidden",
    "a%00b",
    "outside.json%00",
    "a" * 300,
)


async def test_no_path_leaves_the_folder(serve: Serve, players: Players, tmp_path: Path) -> None:
    records = tmp_path / "records"
    records.mkdir()
    client = await serve(records=records)
    begun = await client.begin("tictactoe", await players(*ROLES))
    await client.ended(begun["match"])
    shutil.copy(records / f"{begun['match']}.json", tmp_path / "outside.json")
    shutil.copy(records / f"{begun['match']}.json", records / ".hidden.json")
    (records / "linked.json").symlink_to(tmp_path / "outside.json")
    for path in ESCAPES:
        for place in ("/api/v1/matches/{}", "/api/v1/matches/{}/record", "/matches/{}", "/games/{}", "/play?match={}"):
            async with client.http.get(place.format(path)) as response:
                assert response.status == 404, place.format(path)
    assert (await client.get("/matches"))["total"] == 1


async def test_static_files_are_all_that_is_served_of_the_package(client: ApiClient) -> None:
    for path in ("../pages.py", "..%2Fsafety.py", "%2E%2E/templates/base.html", "", "js", "js/"):
        async with client.http.get(f"/static/{path}") as response:
            assert response.status in (403, 404), path


@pytest.mark.parametrize(
    "url",
    [
        "http://192.0.2.1:9147/",
        "http://127.0.0.1@192.0.2.1:9147/",
        "http://127.0.0.1.evil.example/",
        "http://localhost:1/",
        "http://[::1]:1/",
        "http://2130706433:1/",
        "file:///etc/passwd",
        "random",
        "name=legal",
        "",
    ],
)
async def test_only_allowed_hosts_are_called(client: ApiClient, url: str) -> None:
    players = {"xplayer": {"kind": "external", "url": url}, "oplayer": ANN}
    async with client.http.post("/api/v1/matches", json={"game": "tictactoe", "players": players}) as response:
        assert response.status in (403, 422)
    assert client.services.live_matches.all() == []


async def test_nobody_is_called_unless_the_operator_allowed_it(serve: Serve) -> None:
    client = await serve(allowed_players=frozenset({"192.0.2.1"}))
    async with ScriptedPlayer() as player:
        players = {"xplayer": {"kind": "external", "url": player.url}, "oplayer": ANN}
        await client.post("/matches", {"game": "tictactoe", "players": players}, 403)
        assert player.heard == []


async def test_an_allowed_port_allows_no_other(serve: Serve) -> None:
    async with ScriptedPlayer() as player:
        client = await serve(allowed_players=frozenset({f"127.0.0.1:{player.port + 1}"}))
        players = {"xplayer": {"kind": "external", "url": player.url}, "oplayer": ANN}
        await client.post("/matches", {"game": "tictactoe", "players": players}, 403)


async def test_secret_links_are_told_to_no_one_else(client: ApiClient) -> None:
    begun = await client.begin("tictactoe", {"xplayer": ANN, "oplayer": ANN | {"name": "Bob"}})
    live = client.services.live_matches.get(begun["match"])
    assert live is not None
    secrets = [human.link for human in live.humans.values()]
    for human in live.humans.values():
        human.arrived.set()
    seen = await client.asked(begun["links"]["xplayer"])
    told = [json.dumps(seen)]
    paths = (f"/matches/{begun['match']}", f"/matches/{begun['match']}/record", "/matches")
    told += [json.dumps(await client.get(path)) for path in paths]
    told += [await client.page(path) for path in (begun["url"], "/matches", "/")]
    for text in told:
        assert not [secret for secret in secrets if secret in text]
    await client.post(f"{begun['links']['oplayer']}/resign")
    assert secrets[0] not in json.dumps(await client.get(f"/matches/{begun['match']}/record"))


async def test_no_http_request_speaks_the_protocol_to_a_human(client: ApiClient, players: Players) -> None:
    """The game master of the service calls it within the process; endpoints for other game masters are elsewhere."""
    begun = await client.begin("tictactoe", await players("oplayer") | {"xplayer": ANN})
    await client.asked(begun["links"]["xplayer"])
    live = client.services.live_matches.get(begun["match"])
    assert live is not None
    human, endpoint = live.humans["xplayer"], await client.services.endpoints.add("Ann")
    address = client.services.endpoints.address(endpoint)
    async with aiohttp.ClientSession() as session:
        for secret in (human.link, endpoint.link, "guess", "..", ""):
            async with session.post(urljoin(address, f"../{secret}/"), data=b"( ABORT m )") as response:
                assert response.status == 404, secret
        async with session.post(address, data=b"(((") as response:
            assert response.status == 400
    for path in (f"/play/{human.link}", f"/api/v1/humans/{human.link}", f"/endpoints/{endpoint.secret}"):
        async with client.http.post(path, data=b"( ABORT m )") as response:
            assert response.status in (404, 405)
    assert human.wanted == 0
    await client.post(f"{begun['links']['xplayer']}/resign")


async def test_a_link_moves_for_its_own_role_only(client: ApiClient) -> None:
    begun = await client.begin("tictactoe", {"xplayer": ANN, "oplayer": ANN | {"name": "Bob"}})
    live = client.services.live_matches.get(begun["match"])
    assert live is not None
    for human in live.humans.values():
        human.arrived.set()
    await client.asked(begun["links"]["xplayer"])
    problem = await client.post(f"{begun['links']['oplayer']}/move", {"move": "(mark 1 1)", "step": 0}, 409)
    assert "no move is wanted" in problem["detail"]
    assert (await client.get(begun["links"]["oplayer"]))["legal"] == []
    await client.post(f"{begun['links']['oplayer']}/resign")


async def test_what_people_may_not_know_is_told_to_nobody(serve: Serve, tmp_path: Path) -> None:
    """A match of GDL-II that another process plays: shown when it is over."""
    scripts = {0: "(ask 1)", 1: "(ask 2)"}, {0: "(hide 2)", 1: "(hide 1)"}
    asker, keeper = (ScriptedPlayer(moves=moves) for moves in scripts)
    async with asker, keeper:
        game = ggp.load_text(games.SECRET, "secret", "interpreter")
        over = await play(game, {"asker": asker, "keeper": keeper}, tmp_path)
    person = over.players["asker"].model_copy(update={"kind": "human"})
    running = growing(over, 1).model_copy(update={"started": now(), "players": {**over.players, "asker": person}})
    records = tmp_path / "records"
    records.mkdir()
    writer = RecordWriter(records / "hidden.json")
    writer.write(running)
    client = await serve(records=records)
    match = await client.get("/matches/hidden")
    assert match["is_hidden"]
    assert (match["joint_moves"], match["seed"]) == ([], None)
    for path in ("states/0", "states/1", "states/1/picture", "record", "tiltyard", "verdict"):
        await client.get(f"/matches/hidden/{path}", 403)
    await client.post("/matches/hidden/states/1/analysis", {"seconds": 0.1}, 403)
    players = dict.fromkeys(over.roles, ANN)
    await client.post("/matches/hidden/branches", {"step": 1, "players": players}, 403)
    assert "hide 2" not in await client.page("/matches/hidden")
    assert "hide 2" not in await client.page("/play?match=hidden&step=1", 403)
    async with client.events("/matches/hidden/events") as events, asyncio.timeout(PATIENCE):
        writer.write(growing(running.model_copy(update={"steps": over.steps}), 2))
        async for event in events:
            if event.kind == "step":
                break
    assert (event.data["number"], event.data["step"], event.data["state"]) == (2, None, None)
    writer.write(over)
    assert "hide 2" in await client.page("/matches/hidden")


async def test_hostile_text_is_text(client: ApiClient, players: Players) -> None:
    role, move, fact = "<b>me</b>", "a\"onclick='x'", "</script><i>"
    rules = games.GUESSING.replace("left", role).replace("show", move).replace("round", fact)
    game = await client.post("/games", {"name": EVIL[:60], "rulesheet": f"; {EVIL}\n{rules}"}, 201)
    thought = json.dumps({"value": 50, "line": f"(a (b {EVIL}))"})
    player = ScriptedPlayer({"start": says(EVIL), 0: thinks(thought, f"({EVIL})"), 1: says(EVIL)})
    wanted = await players("right", me=player)
    mine = wanted.pop("me")
    assert isinstance(mine, dict)
    begun = await client.begin(game["id"], {role: mine | {"name": EVIL[:60]}, **wanted})
    match = await client.ended(begun["match"])
    assert match["faults"] >= 2
    assert "(b <script>alert 1 </script><img" in match["joint_moves"][0]["evaluations"][role]["text"]
    assert "(b &lt;script&gt;alert 1" in await client.page(begun["url"])
    for path in (game["url"], begun["url"], f"{begun['url']}?step=1", "/games", "/matches", "/", "/play"):
        text = await client.page(path)
        assert Page(text).dangers == [], path
        assert "<script>alert" not in text
        assert role not in text
        assert fact not in text
    for path in ("/games", f"/games/{game['id']}", f"/matches/{begun['match']}"):
        async with client.http.get(f"/api/v1{path}") as response:
            assert response.content_type == "application/json"
            assert response.headers["X-Content-Type-Options"] == "nosniff"
    for path in (f"/api/v1/games/{game['id']}/picture", f"/api/v1/matches/{begun['match']}/states/1/picture"):
        picture = await client.page(path)
        assert "<script" not in picture
        assert fact not in picture


async def test_hostile_text_in_the_form_comes_back_as_text(client: ApiClient) -> None:
    form = {"name": EVIL, "rulesheet": f"</textarea>{EVIL} (role a", "do": "check"}
    async with client.http.post("/games/new", data=form) as response:
        text = await response.text()
    page = Page(text)
    assert page.dangers == []
    assert "'(' is never closed" in "".join(page.words)


async def test_a_problem_says_nothing_of_the_inside(client: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("/home/operator/secret")

    monkeypatch.setattr(type(client.services.catalogue), "find", fail)
    problem = await client.get("/games", 500)
    assert "secret" not in json.dumps(problem)
    assert "Traceback" not in json.dumps(problem)


async def test_who_listens_slowly_slows_nobody(client: ApiClient, players: Players) -> None:
    """Listeners that never read: the match ends all the same, and they are let go."""
    all_listen = asyncio.Event()
    begun = await client.begin("connectfour", await players("red", yellow=ScriptedPlayer({0: held_until(all_listen)})))
    url = client.http.make_url(f"/api/v1/matches/{begun['match']}/events")
    writers = []
    for _ in range(20):
        reader, writer = await asyncio.open_connection(url.host, url.port, limit=1)
        writer.write(f"GET {url.path} HTTP/1.1\r\nHost: {url.host}\r\n\r\n".encode())
        writers.append((reader, writer))
    all_listen.set()
    async with asyncio.timeout(PATIENCE):
        match = await client.ended(begun["match"])
    assert match["status"] == "terminal"
    assert match["faults"] == 0
    for _, writer in writers:
        writer.close()


async def test_a_connection_whose_client_does_not_read_is_closed(
    client: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client sends requests until the connection is reset."""
    monkeypatch.setattr(application, "PATIENCE", 0.3)
    url = client.http.make_url("/api/v1/openapi.json")
    requests = 1000 * f"GET {url.path} HTTP/1.1\r\nHost: {url.host}\r\n\r\n".encode()
    with socket.create_connection((url.host, url.port)) as connection:
        connection.setblocking(False)

        async def send() -> None:
            while True:  # the size of the buffers depends on the system
                await asyncio.get_running_loop().sock_sendall(connection, requests)

        with pytest.raises(ConnectionError):
            await asyncio.wait_for(send(), PATIENCE)


async def test_files_are_compressed_as_a_whole_only(client: ApiClient) -> None:
    path, packed = "/static/style.css", {"Accept-Encoding": "gzip"}
    async with client.http.get(path, headers=packed) as response:
        text, tag = await response.text(), response.headers["Etag"]
        assert (response.headers["Content-Encoding"], response.headers["Vary"]) == ("gzip", "Accept-Encoding")
    async with client.http.get(path, headers={"Accept-Encoding": "identity"}) as response:
        assert "Content-Encoding" not in response.headers
        assert await response.text() == text
    for more, status, body in (({"If-None-Match": tag}, 304, ""), ({"Range": "bytes=0-9"}, 206, text[:10])):
        async with client.http.get(path, headers=packed | more) as response:
            assert (response.status, await response.text()) == (status, body)
            assert "Content-Encoding" not in response.headers
        assert await client.page("/token")  # the connection is whole
    async with client.http.head(path, headers=packed) as response:
        assert response.status == 200
