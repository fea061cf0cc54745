"""Players as they are named on the command line."""

import re

import pytest

from gamemaster.player import LONGEST_NAME, PlayerAddress, as_name, is_name, parse_player
from ggp.errors import SettingsError
from ggp.protocol.messages import Dialect


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("random", PlayerAddress("random", "random", is_bot=True)),
        ("alice=random", PlayerAddress("alice", "random", is_bot=True)),
        ("my_bot.py:Cautious", PlayerAddress("Cautious", "my_bot.py:Cautious", is_bot=True)),
        ("me=bots/my_bot.py:choose", PlayerAddress("me", "bots/my_bot.py:choose", is_bot=True)),
        ("package.module:Cautious", PlayerAddress("Cautious", "package.module:Cautious", is_bot=True)),
        ("localhost:80", PlayerAddress("", "http://localhost:80/", is_bot=False)),
        ("[::1]:9000", PlayerAddress("", "http://[::1]:9000/", is_bot=False)),
        ("http://192.0.2.7", PlayerAddress("", "http://192.0.2.7:9147/", is_bot=False)),
        ("http://[::1]", PlayerAddress("", "http://[::1]:9147/", is_bot=False)),
        ("bob=http://host:1/player", PlayerAddress("bob", "http://host:1/player", is_bot=False)),
        ("bob=host:1", PlayerAddress("bob", "http://host:1/", is_bot=False)),
        ("host:1#dresden", PlayerAddress("", "http://host:1/", is_bot=False, dialect=Dialect.DRESDEN)),
        ("http://host#dresden", PlayerAddress("", "http://host:9147/", is_bot=False, dialect=Dialect.DRESDEN)),
    ],
)
def test_a_player_is_a_url_or_a_bot(text: str, address: PlayerAddress) -> None:
    assert parse_player(text) == address


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("https://host:1", "neither"),
        ("ftp://host:1", "neither"),
        ("http://", "neither"),
        ("http://:9147", "neither"),
        ("", "neither"),
        ("=random", "neither"),
        ("a b", "neither"),
        ("http://a b:1/", "neither"),
        ("http://host:port", "port"),
        ("host:99999", "[Pp]ort"),
        ("host:0", "port 0"),
        ("host:1#stanford", "no dialect is called 'stanford'"),
        ("http://[::1:9147", "."),
        ("http://a..b:9147", "the host name is not valid"),
        ("x" * 64 + ":9147", "the host name is not valid"),
    ],
)
def test_anything_else_is_refused_with_what_was_given(text: str, reason: str) -> None:
    with pytest.raises(SettingsError, match=rf"^player {re.escape(repr(text))}: .*{reason}"):
        parse_player(text)


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("Ann", "Ann"),
        (" Zoë 2 ", "Zoë 2"),
        ("A" * 30_000, "A" * LONGEST_NAME),
        ("a" + 300 * "\N{COMBINING ACUTE ACCENT}" + "b", "a" + 3 * "\N{COMBINING ACUTE ACCENT}" + "b"),
        ("a\N{RIGHT-TO-LEFT OVERRIDE}b\nc\0", "a\\u202eb\\nc\\x00"),
        ("\n", ""),
    ],
)
def test_a_name_that_a_player_gives_itself_can_be_shown(said: str, name: str) -> None:
    assert as_name(said) == name
    assert is_name(name)
    assert is_name(said) == (said == name)
