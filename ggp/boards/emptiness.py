"""Which contents of cells mean that there is nothing."""

from collections import Counter

from ggp.boards.marks import is_empty_word
from ggp.boards.readings import Reading

_SHORT_WORD = "b"  # for blank, in rules without white
_COLOURS = frozenset(("w", "white", "black"))


def empty_contents(reading: Reading) -> frozenset[str]:
    """Names of contents that are no piece: words for it, and what most cells hold in the first state."""
    profile = reading.profile
    words = {name for place in reading.pieces for name in profile.constants[place] if is_empty_word(name)}
    if len(reading.pieces) != 1 or words:
        return frozenset(words)
    (place,) = reading.pieces
    constants = profile.constants[place]
    if _SHORT_WORD in constants and not _COLOURS & set(constants):
        return frozenset((_SHORT_WORD,))
    if len(constants) < 2 or profile.orders[place] or not profile.rows:
        return frozenset()
    key = (*reading.index, *reading.place)
    counts = Counter(row[place] for row in profile.rows[0])
    if counts and profile.is_total(key):
        most, number = counts.most_common(1)[0]
        if 2 * number > sum(counts.values()) and len(most) <= 1:
            return frozenset((most,))
    return frozenset()
