"""What a stranger must not learn during a match: every route is asked, and every answer searched for every secret."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path

import aiohttp
import pytest

from gamemaster.player import host_of
from gamemaster.record import MatchRecord, RecordWriter, now
from gamemaster.settings import derived, make_settings
from gamemaster.tournament.store import Store, open_store
from gamemaster.web.api.document import document
from gamemaster.web.views import Sight, visible, visible_export, visible_json
from tests.gamemaster import games
from tests.gamemaster.matches import play
from tests.gamemaster.scripted import ScriptedPlayer, silent
from tests.gamemaster.web.api_client import PATIENCE, ApiClient
from tests.gamemaster.web.conftest import Players, Serve
from tests.gamemaster.web.tournaments import a_finished_match, growing

SEED = 7_654_321_987_654
ANN = {"kind": "human", "name": "Ann"}
OPERATOR = "correct-horse-operator"
PAGES = ("/", "/games", "/games/{game}", "/matches", "/matches/{match}", "/play", "/play?match={match}&step=0", "/api")


def secrets_of(record: MatchRecord) -> Iterator[str]:
    """Everything in a record from which somebody could foretell, or speak for another."""
    yield from (str(record.settings.seed), record.token)
    for player in record.players.values():
        yield from filter(None, (player.url.rstrip("/"), player.bot_seed and str(player.bot_seed)))
        yield from filter(None, (player.scramble_seed and str(player.scramble_seed),))


def with_secrets(record: MatchRecord) -> MatchRecord:
    """A match between a human at an endpoint, and a bot, told the rules in other words; as another process plays it."""
    one, other = record.players.values()
    hidden = {role: derived(SEED, "scramble", role) for role in record.players}
    address = "http://127.0.0.1:9200/S3CRET-PLACE/"
    players = {
        record.roles[0]: one.model_copy(
            update={"url": address, "kind": "human", "scramble_seed": hidden[record.roles[0]]}
        ),
        record.roles[1]: other.model_copy(
            update={"bot": "mcts", "kind": "bot", "bot_seed": derived(SEED, "bot", record.roles[1])}
        ),
    }
    settings = make_settings(
        **{name: getattr(record.settings, name) for name in ("startclock", "playclock")}, seed=SEED
    )
    return record.model_copy(update={"players": players, "settings": settings, "started": now()})


async def answers(
    client: ApiClient, stranger: aiohttp.ClientSession, names: Mapping[str, str]
) -> AsyncIterator[tuple[str, str]]:
    """What every route of the document and every page says to somebody who has no right to anything."""
    for path, methods in document()["paths"].items():
        for method, described in methods.items():
            address = path.format(**names)
            if "text/event-stream" in str(described["responses"]["200" if method == "get" else "201"
                                          if "201" in described["responses"] else "200"]):  # fmt: skip
                continue  # `events` of a match are listened to where something happens
            body: dict[str, object] | None = {} if method == "post" else None
            async with stranger.request(method, client.http.make_url(address), json=body) as response:
                yield f"{method} {address}", await response.text() + str(response.headers)
    for page in PAGES:
        async with stranger.get(client.http.make_url(page.format(**names))) as response:
            yield page, await response.text() + str(response.headers)


async def check(client: ApiClient, names: Mapping[str, str], secrets: list[str]) -> None:
    asked = 0
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as stranger:
        async for place, text in answers(client, stranger, names):
            found = [secret for secret in secrets if secret in text]
            assert not found, f"{place} tells {found}"
            asked += 1
    assert asked >= 30


@pytest.fixture(params=["folder", "store"])
async def place(
    request: pytest.FixtureRequest, serve: Serve, tmp_path: Path
) -> AsyncIterator[tuple[ApiClient, MatchRecord]]:
    """A service, and a running match in its folder or store that another process plays."""
    running = growing(with_secrets(await a_finished_match()), 2).model_copy(update={"match": "of-others"})
    store: Store | None = None
    writer = None
    records = tmp_path / "records"
    records.mkdir()
    if request.param == "store":
        store = open_store(str(tmp_path / "matches.sqlite"))
        store.keep_single(running)
    else:
        writer = RecordWriter(records / "of-others.json")
        writer.write(running)
    yield await serve(store=store, records=records), running
    if store is not None:
        store.close()
    if writer is not None:
        writer.close()


async def test_a_match_of_another_process_tells_no_secret(place: tuple[ApiClient, MatchRecord]) -> None:
    client, running = place
    names = {"match": "of-others", "game": "tictactoe", "step": "1", "link": "guess", "tournament": "none"}
    assert (await client.get("/matches/of-others"))["status"] == "running"
    record = await client.get("/matches/of-others/record")
    assert len(record["steps"]) == 2
    assert "seed" not in record["settings"]
    assert "token" not in record
    exported = await client.get("/matches/of-others/tiltyard")
    assert (len(exported["states"]), exported["ggp"]["status"]) == (3, "running")
    await check(client, names, list(secrets_of(running)))


async def test_a_match_that_is_played_here_tells_no_secret(serve: Serve, players: Players) -> None:
    client = await serve(operator_token=OPERATOR)
    wanted = {"left": ANN, **await players("right")}
    game = await client.post("/games", {"name": "dice", "rulesheet": games.GUESSING}, 201)
    begun = await client.begin(game["id"], wanted, OPERATOR, seed=SEED)
    await client.asked(begun["links"]["left"])
    live = client.services.live_matches.get(begun["match"])
    assert live is not None
    right = wanted["right"]
    assert isinstance(right, dict)
    secrets = [str(SEED), live.humans["left"].link, right["url"].rstrip("/")]
    names = {"match": begun["match"], "game": game["id"], "step": "0", "link": "guess", "tournament": "none"}
    async with client.events(f"/matches/{begun['match']}/events") as events, asyncio.timeout(PATIENCE):
        await check(client, names, secrets)
        human = await client.get(begun["links"]["left"])
        await client.post(f"{begun['links']['left']}/move", {"move": human["legal"][0]["move"], "step": 0})
        async for event in events:
            assert not [secret for secret in secrets if secret in json.dumps(event.data)]
            if event.kind == "step" and event.data["number"] == 1:
                break
    assert str(SEED) not in json.dumps(human)
    await client.post(f"{begun['links']['left']}/resign")
    record = await client.get(f"/matches/{begun['match']}/record")
    assert record["settings"]["seed"] == SEED  # when it is over it can be verified
    assert [player["url"] for player in record["players"].values()] == ["", ""]
    assert (await client.get(f"/matches/{begun['match']}/verdict"))["holds"]


async def test_a_match_that_is_being_prepared_tells_no_address(client: ApiClient) -> None:
    async with ScriptedPlayer({"info": silent, "start": silent}) as player:
        url = f"{player.url}S3CRET/"
        wanted = {
            role: {"kind": "external", "url": url.replace("S3CRET", f"S3CRET{role}")} for role in ("xplayer", "oplayer")
        }
        begun = await client.begin("tictactoe", wanted)
        for path in ("/matches", f"/matches/{begun['match']}"):
            assert "S3CRET" not in json.dumps(await client.get(path))
        assert "S3CRET" not in await client.page(begun["url"])


@pytest.mark.parametrize("kinds", [("human", "bot"), ("external", "bot"), ("external", "external")])
async def test_hidden_states_are_hidden_from_programs_as_well(
    serve: Serve, tmp_path: Path, kinds: tuple[str, str]
) -> None:
    """A program that plays GDL-II for somebody else could look here; only bots of ours cannot."""
    over = await a_secret_match(tmp_path)
    players = {
        role: player.model_copy(update={"kind": kind, "bot": "random" if kind == "bot" else None})
        for (role, player), kind in zip(over.players.items(), kinds, strict=True)
    }
    records = tmp_path / "records"
    records.mkdir()
    running = growing(over, 1).model_copy(update={"started": now(), "players": players})
    writer = RecordWriter(records / "hidden.json")
    writer.write(running)
    client = await serve(records=records)
    names = {"match": "hidden", "game": "tictactoe", "step": "1", "link": "guess", "tournament": "none"}
    await check(client, names, ["hide 2"])
    for path in ("states/1", "states/1/picture", "record", "tiltyard", "verdict"):
        await client.get(f"/matches/hidden/{path}", 403)


async def test_bots_alone_may_be_watched(serve: Serve, tmp_path: Path) -> None:
    over = await a_secret_match(tmp_path)
    players = {
        role: player.model_copy(update={"kind": "bot", "bot": "random"}) for role, player in over.players.items()
    }
    records = tmp_path / "records"
    records.mkdir()
    writer = RecordWriter(records / "bots.json")
    writer.write(growing(over, 1).model_copy(update={"started": now(), "players": players}))
    client = await serve(records=records)
    assert len((await client.get("/matches/bots"))["joint_moves"]) == 1


async def a_secret_match(folder: Path) -> MatchRecord:
    scripts = {0: "(ask 1)", 1: "(ask 2)"}, {0: "(hide 2)", 1: "(hide 1)"}
    asker, keeper = (ScriptedPlayer(moves=moves) for moves in scripts)
    async with asker, keeper:
        game = games.game(games.SECRET)
        return await play(game, {"asker": asker, "keeper": keeper}, folder)


async def test_what_follows_a_match_has_a_seed_that_cannot_be_known(serve: Serve, players: Players) -> None:
    client = await serve(operator_token=OPERATOR)
    begun = await client.begin("tictactoe", await players("xplayer", "oplayer"), OPERATOR, seed=SEED)
    await client.ended(begun["match"])
    wanted = {"step": 2, "players": dict.fromkeys(("xplayer", "oplayer"), ANN)}
    seeds = {SEED}
    for _ in range(2):  # nor by somebody who goes on from the same state
        following = await client.post(f"/matches/{begun['match']}/branches", wanted, 201)
        live = client.services.live_matches.get(following["match"])
        assert live is not None
        seeds.add(live.order.seed)
        await client.services.live_matches.end(live, "enough")
    assert len(seeds) == 3


def test_an_address_is_told_without_its_secrets() -> None:
    assert host_of("http://user:word@192.0.2.1:9147/S3CRET/") == "192.0.2.1:9147"


async def test_a_player_without_a_name_is_called_after_its_host(serve: Serve, tmp_path: Path) -> None:
    record = await a_finished_match()
    nameless = {"name": "", "url": "http://ann:word@192.0.2.1:9147/S3CRET/"}
    players = {role: player.model_copy(update=nameless) for role, player in record.players.items()}
    RecordWriter(tmp_path / "one.json").write(record.model_copy(update={"players": players}))
    client = await serve()
    assert (await client.get("/games/tictactoe"))["statistics"]["fastest"] == "192.0.2.1:9147"


async def test_the_one_way_out_leaves_secrets_behind() -> None:
    running = growing(with_secrets(await a_finished_match()), 2)
    for sight in (Sight(goes_on=True), Sight(goes_on=True, hides_moves=True, hides_evaluations=True)):
        told = visible_json(running, sight) + visible(running, sight).model_dump_json()
        exported = {"randomToken": running.token, "ggp": running.model_dump(mode="json", exclude={"token"})}
        told += visible_export(exported, sight)
        assert not [secret for secret in secrets_of(running) if secret in told]
    shown = visible(running, Sight(goes_on=False))
    assert [player.url for player in shown.players.values()] == ["", ""]
    assert shown.settings.seed == SEED
