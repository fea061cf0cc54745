"""Games: each sentence that states a fact, and what shows it (see `claims`)."""

import pytest

import ggp
from tests.games.claims import Claim, check, play, words_of
from tests.games.tables import counting, lines, puzzles, several, simultaneous

CLAIMS: tuple[Claim, ...] = (*puzzles.CLAIMS, *counting.CLAIMS, *lines.CLAIMS, *simultaneous.CLAIMS, *several.CLAIMS)


@pytest.mark.parametrize("game", sorted({claim.game for claim in CLAIMS}))
def test_claims(game: str) -> None:
    loaded = ggp.load(game, "interpreter")
    words = words_of(loaded.metadata)
    for claim in (claim for claim in CLAIMS if claim.game == game):
        assert claim.sentence in words, f"{claim.sentence!r} is no sentence about {game}"
        state = play(loaded.initial_state, claim.moves)
        for expected in claim.expected:
            check(state, expected)
