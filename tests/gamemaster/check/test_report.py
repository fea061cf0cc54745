"""What is told of findings, to people and to programs."""

import json

from gamemaster.check.console import as_json, dialogue_of, lines_of, summary
from gamemaster.check.session import CheckSettings
from tests.gamemaster.check.scripted import SoundPlayer, findings_of, parts
from tests.gamemaster.check.spoilt import SPOILT

SETTINGS = CheckSettings(seed=1)


def test_what_is_good_takes_one_line() -> None:
    _, found = findings_of(SoundPlayer(), parts(), SETTINGS)
    assert list(lines_of(found["moves, ggp-base"], verbose=False)) == [
        "\x1b[32mgood           \x1b[0m  moves, ggp-base           4 moves, all legal"
    ]


def test_what_is_not_is_explained() -> None:
    _, found = findings_of(SPOILT["illegal"].make(), parts(), SETTINGS)
    first, why = lines_of(found["moves, ggp-base"], verbose=False)
    assert first.startswith("\x1b[31mbad            \x1b[0m  moves, ggp-base           4 of 4 moves not accepted; ")
    assert why.strip() == "The game master replaces a move that is not legal."


def test_the_whole_dialogue_can_be_shown_and_obeys_nothing() -> None:
    session, found = findings_of(SPOILT["hostile"].make(), parts(), SETTINGS)
    lines = list(lines_of(found["START, ggp-base"], verbose=True))
    assert "    > ( PLAY check-1-1 NIL )" in lines
    assert "    < ready\\x1b]0;owned\\x07\\x1b[31m" in lines
    text = dialogue_of(session)
    assert text.replace("\n", "").isprintable()
    assert text.count("\n# START\n") == 1


def test_json_has_everything() -> None:
    session, found = findings_of(SPOILT["illegal"].make(), parts(), SETTINGS)
    report = json.loads(json.dumps(as_json(session, "http://x:1/", list(found.values()), verbose=True)))
    assert (report["player"], report["name"], report["game"]) == ("http://x:1/", "sound", "small")
    assert report["verdicts"] == {"good": 5, "could be better": 0, "bad": 1, "not tried": 0}
    assert report["checks"][3]["check"] == "moves, ggp-base"
    assert report["checks"][3]["verdict"] == "bad"
    assert "> ( INFO )" in report["checks"][0]["dialogue"][0]
    assert "dialogue" not in as_json(session, "", list(found.values()), verbose=False)["checks"][0]
    assert summary(list(found.values())) == "5 good, 1 bad"
