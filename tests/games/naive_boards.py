"""Plain models of board games for which no other program is at hand: cells by name, moves by walking over the board."""

from collections.abc import Iterator
from itertools import product

Point = tuple[int, int]
Stones = dict[Point, str]  # role of the stone on a cell
Walk = tuple[str, Stones]  # move, and the stones after it

COLUMNS = "abcdefghijklmnopqrs"
AXES = ((1, 0), (0, 1), (1, 1), (1, -1))
STRAIGHT = ((1, 0), (-1, 0), (0, 1), (0, -1))
AROUND = tuple(step for step in product((-1, 0, 1), (-1, 0, 1)) if step != (0, 0))


def name(point: Point) -> str:
    return f"{COLUMNS[point[0]]} {point[1] + 1}"


def point(column: str, row: str) -> Point:
    return COLUMNS.index(column), int(row) - 1


def cells(size: int) -> set[Point]:
    return set(product(range(size), range(size)))


def ahead(at: Point, step: Point, size: int) -> list[Point]:
    """The cells from here to the edge."""
    found = []
    x, y = at[0] + step[0], at[1] + step[1]
    while 0 <= x < size and 0 <= y < size:
        found.append((x, y))
        x, y = x + step[0], y + step[1]
    return found


def lines_of_action(stones: Stones, role: str) -> Iterator[Walk]:
    """Each stone goes as far as there are stones on its line, not over those of the other role."""
    for start, owner in stones.items():
        for axis in AXES if owner == role else ():
            back = (-axis[0], -axis[1])
            line = [*ahead(start, axis, 8), *ahead(start, back, 8), start]
            count = sum(cell in stones for cell in line)
            for step in (axis, back):
                way = ahead(start, step, 8)
                if len(way) < count or stones.get(way[count - 1]) == role:
                    continue
                if all(stones.get(cell, role) == role for cell in way[: count - 1]):
                    after = {cell: other for cell, other in stones.items() if cell != start}
                    yield f"(move {name(start)} {name(way[count - 1])})", after | {way[count - 1]: role}


def is_connected(stones: Stones, role: str) -> bool:
    own = {cell for cell, owner in stones.items() if owner == role}
    group = [min(own)]
    for cell in group:
        group += [
            other for dx, dy in AROUND if (other := (cell[0] + dx, cell[1] + dy)) in own and other not in group
        ]  # fmt: skip
    return len(group) == len(own)


def konane(stones: Stones, role: str) -> Iterator[Walk]:
    """The opening, then leaps in one direction."""
    holes = cells(8) - stones.keys()
    if len(holes) < 2:
        opening = [(0, 0), (7, 7), (3, 3), (4, 4)]
        near = [(x + dx, y + dy) for x, y in holes for dx, dy in STRAIGHT]
        for cell in opening if not holes else [cell for cell in near if cell in stones]:
            yield f"(take {name(cell)})", {other: owner for other, owner in stones.items() if other != cell}
        return
    for start, owner in stones.items():
        for step in STRAIGHT if owner == role else ():
            way, taken = ahead(start, step, 8), {start}
            for over, to in zip(way[::2], way[1::2], strict=False):
                if over not in stones or to in stones:
                    break
                taken.add(over)
                after = {cell: other for cell, other in stones.items() if cell not in taken}
                yield f"(jump {name(start)} {name(to)})", after | {to: role}


def ataxx(stones: Stones, role: str) -> Iterator[Walk]:
    """Growing and jumping; the neighbours of the new stone change sides."""
    for to in cells(7) - stones.keys():
        own = [cell for cell, owner in stones.items() if owner == role]
        far = {cell: max(abs(cell[0] - to[0]), abs(cell[1] - to[1])) for cell in own}
        if 1 in far.values():
            yield f"(grow {name(to)})", _spread(stones, to, role)
        for start in (cell for cell, distance in far.items() if distance == 2):
            left = {cell: owner for cell, owner in stones.items() if cell != start}
            yield f"(jump {name(start)} {name(to)})", _spread(left, to, role)


def _spread(stones: Stones, to: Point, role: str) -> Stones:
    turned = {(to[0] + dx, to[1] + dy): role for dx, dy in AROUND if (to[0] + dx, to[1] + dy) in stones}
    return stones | turned | {to: role}


def pente(stones: Stones, role: str) -> Iterator[Walk]:
    """The first stone on the middle; two stones of the other role between two of one's own are taken off."""
    for to in cells(19) - stones.keys() if stones else {(9, 9)}:
        taken = set()
        for step in AROUND:
            way = ahead(to, step, 19)[:3]
            if len(way) == 3 and stones.get(way[2]) == role and all(stones.get(c, role) != role for c in way[:2]):
                taken.update(way[:2])
        yield f"(place {name(to)})", {c: owner for c, owner in stones.items() if c not in taken} | {to: role}


def has_line(stones: Stones, role: str, size: int, length: int) -> bool:
    own = {cell for cell, owner in stones.items() if owner == role}
    return any(own.issuperset([at, *ahead(at, axis, size)][:length]) for at in own for axis in AXES
               if len(ahead(at, axis, size)) >= length - 1)  # fmt: skip


def othello(stones: Stones, role: str) -> Iterator[Walk]:
    """On 6 by 6 cells that are named by two numbers."""
    for to in cells(6) - stones.keys():
        turned: set[Point] = set()
        for step in AROUND:
            way = ahead(to, step, 6)
            run = next((n for n, cell in enumerate(way) if stones.get(cell, role) == role), len(way))
            if run < len(way) and stones.get(way[run]) == role:
                turned.update(way[:run])
        if turned:
            yield f"(place {to[0] + 1} {to[1] + 1})", stones | dict.fromkeys([*turned, to], role)
