"""Stage 7, protocol: our players under foreign game masters, whose bytes are in files, over a real socket."""

from pathlib import Path

import pytest

from players.service import listening, make_app
from players.settings import PlayerSettings
from tests.players.dialogues import Dialogue, dialogues, differences, read_dialogue

MAX_BYTES = 100_000
DIALOGUES = dialogues()


async def differences_of(dialogue: Dialogue) -> list[str]:
    app = make_app(PlayerSettings(dialogue.strategy))
    async with listening(app, "127.0.0.1", 0, MAX_BYTES) as port:
        return await differences(port, dialogue)


@pytest.mark.parametrize("name", DIALOGUES)
async def test_the_player_answers_as_the_dialogue_says(name: str) -> None:
    assert len(DIALOGUES[name].exchanges) > 5
    assert await differences_of(DIALOGUES[name]) == []


async def test_each_difference_is_told_with_its_place(tmp_path: Path) -> None:
    lines = ["player: legal", "> ( INFO )", "! 400", "< busy", "+ Server: none"]
    path = tmp_path / "wrong.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    found = await differences_of(read_dialogue(path))
    assert [difference.split(", ")[0] for difference in found[:2]] == [
        "wrong.txt:2: HTTP/1.0 200 OK",
        "wrong.txt:2: '( ( name legal ) ( status available ) ( species alien ) )'",
    ]
    assert found[2].startswith("wrong.txt:2: no Server: none in [")


def test_both_kinds_of_game_masters_are_there() -> None:
    senders = {line for each in DIALOGUES.values() for exchange in each.exchanges for line in exchange.sent}
    assert {"Sender: GAMESERVER", "Sender: Gamecontroller"} <= senders
