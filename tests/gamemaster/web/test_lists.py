"""Lists of matches: of every status, from the folder and from the store."""

from pathlib import Path
from typing import get_args

from gamemaster.record import RecordWriter
from gamemaster.web.models import Status
from gamemaster.web.repository import _KINDS
from tests.gamemaster.web.conftest import Serve
from tests.gamemaster.web.tournaments import a_finished_match


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
