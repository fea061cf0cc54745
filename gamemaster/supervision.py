"""A piece of work and the signals that end it in order."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any

KILLED = 128  # plus the number of a signal is the exit code after it


async def supervised(work: Coroutine[Any, Any, object]) -> int:
    """Does the work; a signal cancels it, and a second one does so again while it gives up in order. The exit code."""
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None
    received: list[int] = []

    def give_up(number: int) -> None:
        received.append(number)
        task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, give_up, number)
    try:
        await work
    except asyncio.CancelledError:
        if not received:
            raise
        return KILLED + received[0]
    return 0
