"""Feeds: what listeners get, also those who are slow or come back."""

import pytest

from gamemaster.web.live import feed as feed_module
from gamemaster.web.live.feed import QUEUE, RESYNC, Feed, Listener


async def got(listener: Listener) -> list[str]:
    """The kinds of events, and their data."""
    lines = (await listener.get()).decode().split("\n")
    return [line for line in lines if line.startswith(("event:", "data:"))]


def ids(data: bytes) -> list[str]:
    return [line[4:] for line in data.decode().split("\n") if line.startswith("id: ")]


async def test_everybody_hears_everything_from_then_on() -> None:
    feed = Feed()
    feed.publish("early", 0)
    with feed.listening() as one, feed.listening() as two:
        feed.publish("step", {"number": 1})
        assert await got(one) == ["event: step", 'data: {"number":1}']
        feed.publish("step", {"number": 2})
        assert await got(one) == ["event: step", 'data: {"number":2}']
        assert len(await got(two)) == 4
    assert not feed.listeners


async def test_who_comes_back_gets_what_was_missed() -> None:
    feed = Feed()
    with feed.listening() as listener:
        for number in range(5):
            feed.publish("step", number)
        seen = ids(await listener.get())
    with feed.listening(seen[2]) as listener:
        assert ids(await listener.get()) == seen[3:]


@pytest.mark.parametrize("last", ["0badc0de-3", "nonsense", "-", "{epoch}-999", "{epoch}-x", "{epoch}-99999999999999"])
async def test_who_comes_back_with_something_unknown_is_told_to_read_anew(last: str) -> None:
    feed = Feed()
    with feed.listening() as listener:
        feed.publish("step", 1)
        (own,) = ids(await listener.get())
    with feed.listening(last.format(epoch=own.partition("-")[0])) as listener:
        assert await listener.get() == RESYNC


async def test_who_was_away_for_too_long_is_told_to_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "KEPT_BYTES", 100)
    feed = Feed()
    with feed.listening() as listener:
        feed.publish("step", "x" * 60)
        (first,) = ids(await listener.get())
    for _ in range(4):
        feed.publish("step", "x" * 60)
    with feed.listening(first) as listener:
        assert await listener.get() == RESYNC


async def test_who_does_not_listen_loses_events_and_holds_nobody_up() -> None:
    feed = Feed()
    with feed.listening() as slow:
        for number in range(QUEUE):
            feed.publish("step", number)
        feed.publish("step", "one too many")
        assert await slow.get() == RESYNC
        feed.publish("step", "after")
        assert await got(slow) == ["event: step", 'data: "after"']


async def test_the_end_is_heard() -> None:
    feed = Feed()
    with feed.listening() as listener:
        feed.publish("end", {})
        feed.end()
        assert await got(listener) == ["event: end", "data: {}"]
        assert await listener.get() == b""
    with feed.listening() as late:
        assert await late.get() == b""
