"""Pairings that wait for a place: which is the next that could have one, in the order of the schedule."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush
from typing import TypeAlias

from gamemaster.tournament.results import Pairing

Players: TypeAlias = tuple[str, ...]  # sorted: who wait together


class Waiting:
    """All that wait, by who is to play: pairings of the same players need the same place.

    A look costs some microseconds for each set of players that wait together, however many pairings there are.
    """

    def __init__(self) -> None:
        self._queues: defaultdict[Players, deque[tuple[int, Pairing]]] = defaultdict(deque)
        self._order: dict[str, int] = {}  # by the ids of pairings
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, pairings: Iterable[Pairing]) -> None:
        """They come after all that were added before."""
        for pairing in pairings:
            self._order[pairing.id] = len(self._order)
            self._queues[_players(pairing)].append((self._order[pairing.id], pairing))
            self._count += 1

    def put_back(self, pairing: Pairing) -> None:
        """One that was taken waits again, before those that were added after it."""
        queue = self._queues[_players(pairing)]
        queue.append((self._order[pairing.id], pairing))
        self._queues[_players(pairing)] = deque(sorted(queue, key=lambda each: each[0]))
        self._count += 1

    def take(self, is_taken: Callable[[Pairing], bool | None]) -> None:
        """Offers the pairings in order, and removes those that are taken.

        After a pairing that was refused (False), no other of the same players is offered; after None, none at all.
        """
        heads = [(queue[0][0], players) for players, queue in self._queues.items()]
        heapify(heads)
        while heads:
            _, players = heappop(heads)
            queue = self._queues[players]
            answer = is_taken(queue[0][1])
            if answer is None:
                return
            if not answer:
                continue
            queue.popleft()
            self._count -= 1
            if queue:
                heappush(heads, (queue[0][0], players))
            else:
                del self._queues[players]


def _players(pairing: Pairing) -> Players:
    return tuple(sorted(pairing.players))
