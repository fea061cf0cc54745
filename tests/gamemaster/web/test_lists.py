"""Lists of matches: of every status, from the folder and from the store."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import get_args

import ggp
from gamemaster.record import RecordWriter
from gamemaster.tournament.store import open_store
from gamemaster.web.models import Status
from gamemaster.web.repository import _KINDS
from ggp.gdl.rulesheet import NATURE
from tests.gamemaster.matches import play
from tests.gamemaster.scripted import ScriptedPlayer
from tests.gamemaster.web.conftest import Serve
from tests.gamemaster.web.tournaments import a_finished_match

WITH_CHANCE = "pig"


def test_every_status_is_listed_under_some_name() -> None:
    assert _KINDS.keys() == set(get_args(Status))


async def test_matches_that_ended_by_a_verdict_are_listed(serve: Serve, tmp_path: Path) -> None:
    record = await a_finished_match()
    for status in ("forfeit", "adjudicated", "void"):
        RecordWriter(tmp_path / f"{status}.json").write(record.model_copy(update={"status": status}))
    client = await serve()
    assert (await client.get("/matches?status=finished"))["total"] == 3
    assert (await client.get("/matches?status=failed"))["total"] == 0
    assert "forfeit" in await client.page("/matches?status=finished")


async def test_a_store_tells_of_players_what_it_keeps(serve: Serve, tmp_path: Path) -> None:
    game = ggp.load(WITH_CHANCE, "interpreter")
    async with AsyncExitStack() as stack:
        players = {role: await stack.enter_async_context(ScriptedPlayer()) for role in game.roles if role != NATURE}
        (tmp_path / "records").mkdir()
        record = await play(game, players, tmp_path / "records", max_steps=2)
    store = open_store(str(tmp_path / "store.sqlite"))
    store.keep_single(record)
    client = await serve(store=store)
    (listed,) = (await client.get("/matches"))["matches"]
    match = await client.get(f"/matches/{record.match}")
    assert list(listed["players"]) == list(match["players"])
    assert listed["players"][NATURE] == match["players"][NATURE]
    for role in players:
        assert listed["players"][role] == {**match["players"][role], "kind": None}
    store.close()
