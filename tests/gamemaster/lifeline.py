"""A connection to a player that shows when its process ends."""

import asyncio
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit


@dataclass
class Lifeline:
    """Says nothing, and waits for the other side to close."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @classmethod
    async def to(cls, url: str) -> Self:
        parts = urlsplit(url)
        return cls(*await asyncio.open_connection(parts.hostname, parts.port))

    async def has_ended(self) -> None:
        """Returns when the player is gone; TimeoutError when it stays."""
        async with asyncio.timeout(120):
            assert await self.reader.read() == b""
        self.writer.close()
        await self.writer.wait_closed()
