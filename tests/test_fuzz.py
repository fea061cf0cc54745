"""The short form of `python -m tests.bench.fuzz`, and what it once found."""

import asyncio
from pathlib import Path
from random import Random

import pytest

from tests.bench.fuzz import CORPUS, FINDINGS, judge_reply, judge_rulesheet, message, mutated, rulesheets, try_messages

pytestmark = pytest.mark.usefixtures("one_clingo")


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.kif")), ids=lambda path: path.stem)
def test_what_was_found_once_is_mended(path: Path) -> None:
    verdict = judge_rulesheet(path.read_text(encoding="utf-8", errors="surrogatepass"))
    assert not verdict.is_finding, verdict.detail


def test_mutated_rulesheets_are_refused_or_agree() -> None:
    sheets = rulesheets(None)
    verdicts = [judge_rulesheet(mutated(sheets, Random(f"test {case}"))) for case in range(40)]
    assert not [verdict for verdict in verdicts if verdict.is_finding]
    assert "agrees" in {verdict.word for verdict in verdicts}


def test_mutated_replies_are_read_or_refused() -> None:
    verdicts = [judge_reply(message(Random(f"test {case}"))) for case in range(2000)]
    assert not [verdict for verdict in verdicts if verdict.is_finding]


def test_a_player_survives_mutated_requests() -> None:
    counts = asyncio.run(try_messages(range(200), seed=0, at_once=10))
    assert not counts["tracebacks"]
    assert not [word for word in counts if word.startswith("5") or word in FINDINGS]
    assert counts["final INFO 200"] == 1
