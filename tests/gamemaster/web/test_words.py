"""How pages and reports write numbers."""

import pytest

from gamemaster.web.html.rendering import signed


@pytest.mark.parametrize(("value", "text"), [(-0.4, "+0"), (0.4, "+0"), (-0.6, "−1"), (12.3, "+12")])
def test_a_whole_number_has_its_sign_unless_it_is_nothing(value: float, text: str) -> None:
    assert signed(value) == text
