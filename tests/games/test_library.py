"""All shipped games: metadata, validator, and a short random match by the interpreter; `slow` ones go into depth."""

import re
from itertools import islice, takewhile
from random import Random

import pytest

import ggp
from ggp.boards import hinted_words, make_picture
from ggp.families import generate
from ggp.gdl.rulesheet import NATURE, parse_rulesheet
from ggp.gdl.validator import validate
from ggp.library import TAGS, Metadata, find_rulesheet, is_match, read_metadata, rules_folder, shipped_rulesheets
from ggp.simulation.evidence import gather_evidence
from ggp.simulation.perft import layers, perft
from tests.boards.shipped import game_of, layout_of
from tests.games.models import MODELS, count_paths, shortest

GAMES = ggp.games()
FEW = 250  # paths: a count of perft that the interpreter finds quickly
MOST = 2_000_000  # paths: a count that a slow test does
SMALL = ("eightpuzzle", "hanoi", "maze", "pancakes", "rushhour", "sokoban1", "sokoban2", "sokoban3")  # puzzles


def metadata_of(name: str) -> Metadata:
    return read_metadata(find_rulesheet(name))


def text_of(name: str) -> str:
    return find_rulesheet(name).read_text(encoding="utf-8")


def test_names_are_found_in_all_folders() -> None:
    assert {path.parent.name for path in shipped_rulesheets().values()} >= {"connection", "counting", "pieces"}
    for name, path in shipped_rulesheets().items():
        assert find_rulesheet(name) == path
        assert path.parent.parent == rules_folder()
    files = [path.stem for path in rules_folder().rglob("*.kif")]
    assert len(files) == len(set(files)) == len(GAMES)
    assert {path.stem for path in rules_folder().rglob("*.toml")} == set(files)


@pytest.mark.parametrize("name", GAMES)
def test_metadata(name: str) -> None:
    metadata = metadata_of(name)
    assert metadata.title
    assert len(metadata.description.split()) >= 12
    assert metadata.source
    assert all(reading.endswith(".") for reading in metadata.readings)
    assert set(metadata.tags) <= TAGS.keys()
    assert "longest" in metadata.truths


@pytest.mark.parametrize("name", GAMES)
def test_moves_and_values_are_written_as_people_do(name: str) -> None:
    """Each move has a pattern, which uses its arguments, and each labelled value has a name."""
    words, moves = (hinted_words(metadata_of(name).drawing, table) for table in ("words", "moves"))
    game, random = game_of(name), Random(1)
    state = game.initial_state
    for _ in range(30):
        for value in make_picture(layout_of(name), state.terms).values:
            assert value.label in words.values(), value.label
        if state.is_terminal:
            break
        legal = {role: state.legal_moves(role) for role in game.roles}
        for move in {move for own in legal.values() for move in own}:
            relation, *arguments = move.strip("()").split()
            assert relation in moves, move
            assert all(int(place) <= len(arguments) for place in re.findall(r"{(\d+)", moves[relation])), move
        state = state.play({role: random.choice(own) for role, own in legal.items()})


@pytest.mark.parametrize("name", GAMES)
def test_the_validator_finds_nothing(name: str) -> None:
    text = text_of(name)
    assert [str(finding) for finding in validate(text, name)] == []
    rules = [line.split(";")[0] for line in text.splitlines()]
    assert rules == [line.lower() for line in rules]


@pytest.mark.parametrize("name", GAMES)
def test_roles_and_tags_agree(name: str) -> None:
    metadata = metadata_of(name)
    rulesheet = parse_rulesheet(text_of(name), name)
    roles = [str(rule.head[1]) for rule in rulesheet.rules if rule.is_fact and rule.head[0] == "role"]
    players = [role for role in roles if role != NATURE]
    assert set(players) <= set(metadata.roles) <= set(roles)
    assert all(metadata.roles.values())
    own = ("one-role", "two-roles", "many-roles")[min(len(players), 3) - 1]
    assert {tag for tag in metadata.tags if tag.endswith(("-role", "-roles"))} == {own}
    assert ("chance" in metadata.tags) == (NATURE in roles)
    assert ("hidden" in metadata.tags) == rulesheet.has_percepts


@pytest.mark.parametrize("name", [name for name in GAMES if metadata_of(name).family])
def test_what_is_shipped_is_what_the_family_writes(name: str) -> None:
    metadata = metadata_of(name)
    sheet = generate(metadata.family["name"], metadata.family["parameters"])
    assert text_of(name) == sheet.rules
    written = {"family": metadata.family, "drawing": metadata.drawing, "roles": metadata.roles}
    assert {field: value for field, value in sheet.metadata.items() if field in written} == {
        field: value for field, value in written.items() if field in sheet.metadata
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", GAMES)
def test_matches_end_within_their_bound_with_one_goal_value_for_each_role(name: str) -> None:
    game = ggp.load(name)
    evidence = gather_evidence(game.machine, 200, metadata_of(name).truths["longest"], 1, 60)
    assert not evidence.error
    assert evidence.ended == evidence.matches > 0
    assert not evidence.stuck
    assert not evidence.unclear_goals


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in GAMES if "perft" in metadata_of(name).truths])
def test_perft(name: str) -> None:
    truths = metadata_of(name).truths
    assert truths["perft_source"]
    numbers = list(takewhile(lambda number: number <= MOST, truths["perft"]))
    assert perft(ggp.load(name, "circuit").machine, len(numbers)) == tuple(numbers)


@pytest.mark.parametrize("name", [name for name in GAMES if metadata_of(name).truths.get("perft", [FEW])[0] < FEW])
def test_the_first_numbers_of_perft(name: str) -> None:
    numbers = list(takewhile(lambda number: number <= FEW, metadata_of(name).truths["perft"]))
    assert list(islice(layers(ggp.load(name, "interpreter").machine), len(numbers))) == numbers


def test_words_and_tags_find_games() -> None:
    metadata = Metadata(title="Peg solitaire", description="Jump.", tags=("puzzle", "classic"))
    assert is_match(["PEG", "jump"], ["puzzle"], "pegs", ["you"], metadata)
    assert is_match(["classic", "you", "pegs"], [], "pegs", ["you"], metadata)
    assert not is_match(["peg", "hex"], [], "pegs", ["you"], metadata)
    assert not is_match([], ["puzzle", "chance"], "pegs", ["you"], metadata)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in GAMES if metadata_of(name).family.get("name") in MODELS])
def test_a_naive_model_gives_the_same_numbers(name: str) -> None:
    """Perft, and for one role the shortest solution where breadth-first search finds it."""
    metadata = metadata_of(name)
    model = MODELS[metadata.family["name"]](**metadata.family["parameters"])
    numbers = list(takewhile(lambda number: number <= 10 * FEW, metadata.truths["perft"]))
    assert count_paths(model, len(numbers)) == numbers
    if name in SMALL:
        assert shortest(model) == metadata.truths["shortest"]
