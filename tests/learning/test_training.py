"""Training: it goes on as if it had never been interrupted, nets are compared fairly, files are refused when wrong."""

import errno
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner, Result

import ggp
from ggp.analysis import learn, make_analyser
from ggp.cache import CacheEntry, read_entry, write_entry
from ggp.commands.train import add_commands, draw
from ggp.errors import GgpError, KnowledgeError, SettingsError
from ggp.gdl.rulesheet import Rulesheet
from ggp.learning import knowledge as files
from ggp.learning import learner as learners
from ggp.learning import training as trainings
from ggp.learning.contest import Contest, play_out
from ggp.learning.distributed import RemoteLearner, open_hosts
from ggp.learning.inputs import find_inputs
from ggp.learning.knowledge import (
    Knowledge,
    TrainingSummary,
    find_knowledge,
    load_knowledge,
    load_training,
    save_knowledge,
)
from ggp.learning.knowledge import save_training as save
from ggp.learning.net import MOST_UNITS, UNITS, Net, make_net, quantize
from ggp.learning.self_play import SelfPlaySettings, make_self_play
from ggp.learning.settings import TrainingSettings
from ggp.learning.symmetries import find_symmetries
from ggp.learning.training import Generation, Training, can_train
from ggp.search import expert_iteration
from ggp.search.expert_iteration import ExpertMatches
from ggp.search.mcts.settings import SearchSettings
from ggp.signals import EXIT_INTERRUPTED
from ggp.simulation.evaluate import unpack
from ggp.simulation.expansion import OVER
from ggp.simulation.state_machine import CircuitMachine
from tests.gamemaster import games
from tests.learning.nets import assert_equal
from tests.learning.test_learning import plain_net

pytestmark = [pytest.mark.kernels, pytest.mark.usefixtures("one_clingo")]

SMALL = TrainingSettings(seed=3, memory=8)


@pytest.fixture(scope="module")
def machine() -> CircuitMachine:
    return machine_of("tictactoe")


@pytest.fixture(autouse=True)
def short_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainings, "ROUND_SAMPLES", 3_000)
    monkeypatch.setattr(trainings, "FIRST_SAMPLES", 6_000)
    monkeypatch.setattr(learners, "FIRST_TRIAL", 20_000)
    monkeypatch.setattr(learners, "TRIAL", 20_000)
    monkeypatch.setattr(expert_iteration, "_VISITS", 16)
    monkeypatch.setattr(expert_iteration, "SIDE_BY_SIDE", 16)


def machine_of(name: str) -> CircuitMachine:
    found = ggp.load(name, "circuit").machine
    assert isinstance(found, CircuitMachine)
    return found


def never() -> bool:
    return False


def go_on(training: Training, rounds: int) -> None:
    for _ in range(rounds):
        assert training.run_round(never)
        training.end_generation(never)


def assert_same(one: Training, two: Training) -> None:
    nets = [(left.net, right.net) for left, right in zip(one.learners, two.learners, strict=True)]
    for left, right in ((one.best, two.best), *nets):
        assert_equal(left, right)
    assert one.generations == two.generations
    assert (one.matches, one.samples) == (two.matches, two.samples)


@pytest.mark.unchecked
@pytest.mark.parametrize(("threads", "expert_iteration", "memory"), [(1, 0, 8), (2, 0, 32), (1, 1, 32), (2, 2, 8)])
def test_training_goes_on_as_if_it_had_not_been_interrupted(
    threads: int,
    expert_iteration: int,
    memory: int,
    machine: CircuitMachine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nets have patterns where there is memory for them."""
    monkeypatch.setattr(learners, "GROWN_FROM", 16_000)  # of the first learner, which begins before the others
    settings = replace(SMALL, threads=threads, expert_iteration=expert_iteration, memory=memory)
    expert, path = ExpertMatches(machine, 2**22), tmp_path / "t.knowledge"
    whole = Training(machine.compiled, settings, expert=expert)
    go_on(whole, 7)
    part = Training(machine.compiled, settings, expert=expert)
    for rounds in (1, 4, 2):  # before anything is fitted; after a generation; to the end
        go_on(part, rounds)
        assert not part.run_round(map(bool, (0, 0, 1, 1)).__next__)  # in the middle of the next round
        save(path, part, machine.rulesheet, "tictactoe")
        loaded = load_training(path, machine.rulesheet, machine.compiled, expert=expert)
        assert loaded is not None
        part = loaded
    go_on(whole, 1)
    go_on(part, 1)
    assert len(whole.generations) >= 3
    assert_same(whole, part)
    assert whole.learners[0].progress().batches > 0
    assert {learner.net.first.shape[1] for learner in whole.learners} == {MOST_UNITS}
    assert {bool(learner.net.patterns.value.any()) for learner in whole.learners} == {memory > SMALL.memory}


def test_the_expert_is_imitated_after_so_many_rounds(machine: CircuitMachine) -> None:
    alone = Training(machine.compiled, SMALL)
    helped = Training(machine.compiled, replace(SMALL, expert_iteration=2), expert=ExpertMatches(machine, 2**22))
    for rounds, is_same in ((2, True), (1, False)):
        for training in (alone, helped):
            go_on(training, rounds)
        assert np.array_equal(alone.learners[0].net.policy, helped.learners[0].net.policy) == is_same
    assert helped.state()["round.counts"].tolist() == [3, 1]
    with pytest.raises(SettingsError, match="needs an expert"):
        Training(machine.compiled, replace(SMALL, expert_iteration=2))


@pytest.mark.unchecked
@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: pip install 'ggp[cluster]'")
def test_learners_on_a_cluster_learn_what_they_would_here(machine: CircuitMachine, tmp_path: Path) -> None:
    settings, path = replace(SMALL, threads=2), tmp_path / "t.knowledge"
    here = Training(machine.compiled, settings)
    go_on(here, 5)
    with open_hosts("ray", machine.rulesheet, machine.compiled, 2) as host:
        there = Training(machine.compiled, settings, host=host)
        go_on(there, 3)
        save(path, there, machine.rulesheet, "tictactoe")
        loaded = load_training(path, machine.rulesheet, machine.compiled, host)
        assert loaded is not None
        assert not loaded.run_round(lambda: True)
        go_on(loaded, 2)
        assert_same(here, loaded)
        lost = loaded.learners[1]
        assert isinstance(lost, RemoteLearner)
        with pytest.raises(GgpError, match="another circuit"):
            lost.check((), ())
        lost.kill()
        with pytest.raises(GgpError, match=r"^a node was lost .* the same command goes on from what was kept$"):
            go_on(loaded, 1)


def test_a_cluster_needs_threads_for_it() -> None:
    done = invoke("tictactoe", "--cluster", "ray")
    assert isinstance(done.exception, SettingsError)
    assert "--cluster needs --threads of 2 or more" in str(done.exception)


def test_a_round_that_is_stopped_is_not_over(machine: CircuitMachine) -> None:
    training = Training(machine.compiled, SMALL)
    assert not training.run_round(lambda: True)
    go_on(training, 2)
    assert training.end_generation(lambda: True) is None


def test_what_cannot_be_learned_is_said() -> None:
    assert can_train(machine_of("connectfour").compiled) == ""
    for rules, reason in ((games.SECRET, "do not see"), (games.COUNTDOWN, "one role")):
        refused = ggp.load_text(rules, engine="circuit").machine
        assert isinstance(refused, CircuitMachine)
        assert reason in can_train(refused.compiled)


def random_net(machine: CircuitMachine, seed: int, *, reads_moves: bool = False) -> Net:
    moves, random = sum(map(len, machine.compiled.moves)), np.random.default_rng(seed)
    net = make_net(find_inputs(machine.compiled), len(machine.roles), moves, seed, reads_moves=reads_moves)
    if reads_moves:
        net.first[-moves:] += random.standard_normal((moves, UNITS)).astype(np.float32) / 4
    return net._replace(value=(random.standard_normal(net.value.shape) / 20).astype(np.float32))


@pytest.mark.parametrize("name", ["tictactoe", "biddingtictactoe"])
def test_nets_that_change_places_change_results(name: str) -> None:
    machine = machine_of(name)
    contest, one, two = Contest(machine.batches), random_net(machine, 1), random_net(machine, 2)
    there, back = contest.play(one, two, 5, never), contest.play(two, one, 5, never)
    assert there is not None
    assert back is not None
    assert there.sum() == back.sum() > 0
    if name == "tictactoe":  # where no move is drawn
        np.testing.assert_array_equal(there, back[::-1])
    assert contest.play(one, two, 5, lambda: True) is None


def test_a_net_is_no_better_than_itself(machine: CircuitMachine) -> None:
    net = random_net(machine, 1)
    found = Contest(machine.batches).compare(net, net, 1, never)
    assert found is not None
    assert found.pairs[2] == sum(found.pairs)
    assert not found.is_better


@pytest.mark.unchecked
def test_what_was_learned_beats_what_was_not(machine: CircuitMachine) -> None:
    training = Training(machine.compiled, SMALL)
    fresh = training.best
    go_on(training, 12)
    found = Contest(machine.batches).compare(training.learners[0].net, fresh, 1, never)
    assert found is not None
    assert found.is_better
    assert found.elo.low > 0


def test_the_newest_net_counts_as_long_as_none_was_tested(machine: CircuitMachine) -> None:
    training = Training(machine.compiled, SMALL)
    fresh = training.best.first.copy()
    assert training.run_round(never)
    assert not training.generations
    np.testing.assert_array_equal(training.best.first, training.learners[0].net.first)
    assert not np.array_equal(training.best.first, fresh)


def plain_match(machine: CircuitMachine, first: Net, second: Net) -> tuple[float, ...]:
    """By the state machine and nets of float64: the goal values, 0 to 1, of a match from the initial state."""
    state = machine.initial_state
    while not machine.is_terminal(state):
        choices = [machine.legal_moves(state, role) for role in machine.roles]
        chooser = next((role for role, moves in enumerate(choices) if len(moves) > 1), 0)
        scores = []
        for move in choices[chooser]:
            joint = tuple(move if role == chooser else moves[0] for role, moves in enumerate(choices))
            after = machine.next_state(state, joint)
            scores.append((worth(machine, after, chooser, (first, second)[chooser]), joint))
        best = max(score for score, _ in scores)
        assert sum(best - 1e-6 < score < best for score, _ in scores) == 0  # sums of float32 would not tell them apart
        state = machine.next_state(state, next(joint for score, joint in scores if score == best))
    return tuple((machine.goal(state, role) or 0) / 100 for role in machine.roles)


def worth(machine: CircuitMachine, state: object, role: int, net: Net) -> float:
    if machine.is_terminal(state):  # type: ignore[arg-type]
        return (machine.goal(state, machine.roles[role]) or 0) / 100  # type: ignore[arg-type]
    packed = machine.packed(state)  # type: ignore[arg-type]
    assert packed is not None
    legal = [
        move in machine.legal_moves(state, name)  # type: ignore[arg-type]
        for name, moves in zip(machine.roles, machine.compiled.moves, strict=True)
        for move in moves
    ]
    return float(plain_net(net, unpack(packed, machine.compiled.circuit.facts)[0], np.array(legal))[1][role])


def test_matches_are_those_of_a_plain_lookahead(machine: CircuitMachine) -> None:
    one, two = random_net(machine, 1), random_net(machine, 2, reads_moves=True)
    play = make_self_play(machine.batches, SelfPlaySettings(), 1, 0)
    play.opening[:] = 0
    is_newer = np.zeros((512, 2), np.bool_)
    is_newer[::2, 0] = is_newer[1::2, 1] = True
    values = np.full((512, 2), -1.0)
    while (play.front.chooser != OVER).any():
        play_out(play, quantize(one), quantize(two), is_newer, values, 16)
    assert tuple(values[0]) == plain_match(machine, one, two)
    assert tuple(values[1]) == plain_match(machine, two, one)
    assert (values[::2] == values[0]).all()
    assert (values[1::2] == values[1]).all()


def saved(machine: CircuitMachine, path: Path) -> Knowledge:
    known = Knowledge(random_net(machine, 5), TrainingSummary("tictactoe", 60.0, 1_000, 10_000, 12.5, 3))
    save_knowledge(path, known, machine.rulesheet, machine.compiled)
    return known


def test_every_cut_and_every_flipped_bit_is_found(machine: CircuitMachine, tmp_path: Path) -> None:
    path = tmp_path / "known"
    saved(machine, path)
    data = path.read_bytes()
    places = [*range(600), *range(600, len(data), 211), len(data) - 1]
    for at in places:
        flipped = bytearray(data)
        flipped[at] ^= 1 << at % 8
        for damaged in (bytes(flipped), data[:at]):
            path.write_bytes(damaged)
            with pytest.raises(KnowledgeError, match="known: "):
                load_knowledge(path, machine.rulesheet, machine.compiled)
    path.write_bytes(data + b"more")
    with pytest.raises(KnowledgeError):
        load_knowledge(path, machine.rulesheet, machine.compiled)


def test_other_rules_other_versions_and_what_is_no_net(machine: CircuitMachine, tmp_path: Path) -> None:
    path, other = tmp_path / "known", machine_of("noughtsandcrosses")
    known = saved(machine, path)
    with pytest.raises(KnowledgeError, match="learned for other rules"):
        load_knowledge(path, other.rulesheet, other.compiled)
    entry = read_entry(path, files._NET)
    assert entry is not None
    for arrays, notes, problem in (
        ({}, {"version": 99}, "version 99"),
        ({}, {"circuit": ""}, "another circuit"),
        ({}, {"origin": {"seconds": 1}}, "not complete"),
        ({"value": known.net.value[:1]}, {}, "value is"),
        ({"value": known.net.value * np.nan}, {}, "not finite"),
        ({"input_of_fact": known.net.input_of_fact + 1}, {}, "input that does not exist"),
        ({"input_of_move": np.arange(3, dtype=np.int32)}, {}, "input_of_move is"),
        ({"more": np.zeros(1)}, {}, "not those of a net"),
    ):
        write_entry(path, CacheEntry({**entry.arrays, **arrays}, {**entry.notes, **notes}), files._NET)
        with pytest.raises(KnowledgeError, match=problem):
            load_knowledge(path, machine.rulesheet, machine.compiled)


def test_training_files_that_are_wrong(machine: CircuitMachine, tmp_path: Path) -> None:
    path, other = tmp_path / "known", machine_of("noughtsandcrosses")
    expert = ExpertMatches(machine, 2**22)
    training = Training(machine.compiled, replace(SMALL, expert_iteration=1), expert=expert)
    go_on(training, 2)
    save(path, training, machine.rulesheet, "tictactoe")
    whole = tmp_path / "known.training"
    with pytest.raises(KnowledgeError, match="learned for other rules"):
        load_training(path, other.rulesheet, other.compiled)
    data = whole.read_bytes()
    for damaged in (data[:-1], data[: len(data) // 2], b"", bytes([data[0] ^ 1]) + data[1:]):
        whole.write_bytes(damaged)
        with pytest.raises(KnowledgeError, match=r"known\.training"):
            load_training(path, machine.rulesheet, machine.compiled)
    whole.write_bytes(data)
    entry = read_entry(whole, files._TRAINING)
    assert entry is not None
    assert "imitated.states" in entry.arrays
    for name in entry.arrays:
        arrays = {**entry.arrays, name: np.zeros(1, np.float16)}
        write_entry(whole, CacheEntry(arrays, entry.notes), files._TRAINING)
        with pytest.raises(KnowledgeError, match="no state of training"):
            load_training(path, machine.rulesheet, machine.compiled, expert=expert)
    whole.unlink()
    with pytest.raises(KnowledgeError, match="cannot go on without"):
        load_training(path, machine.rulesheet, machine.compiled)


def test_knowledge_of_the_cache_is_found(
    machine: CircuitMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GGP_CACHE", str(tmp_path))
    assert find_knowledge("auto", machine.rulesheet, machine.compiled) is None
    path = files.automatic_path(machine.rulesheet)
    assert path is not None
    saved(machine, path)
    found = find_knowledge("auto", machine.rulesheet, machine.compiled)
    assert found is not None
    assert found.origin.matches == 1_000
    assert find_knowledge("none", machine.rulesheet, machine.compiled) is None
    other = machine_of("noughtsandcrosses")
    assert find_knowledge("auto", other.rulesheet, other.compiled) is None
    path.write_bytes(b"damaged")
    with pytest.raises(KnowledgeError, match="damaged"):
        find_knowledge("auto", machine.rulesheet, machine.compiled)
    monkeypatch.setenv("GGP_CACHE", "off")
    assert find_knowledge("auto", machine.rulesheet, machine.compiled) is None


def test_analysis_shows_priors(machine: CircuitMachine, tmp_path: Path) -> None:
    path, game = tmp_path / "known", ggp.load("connectfour", "circuit")
    chosen = machine_of("connectfour")
    saved(chosen, path)
    assert learn(game, 0, "none", 0, never) is None
    net = learn(game, 0, str(path), 0, never)
    assert net is not None
    analyser = make_analyser(game.initial_state, SearchSettings(memory_bytes=2**24), lines=7, net=net)
    visits = iter(range(20))
    analyser.go_on(lambda: next(visits, None) is None)
    report = analyser.report()
    assert sum(line.prior or 0 for line in report.lines) == pytest.approx(1, abs=1e-5)
    assert report.as_dict()["lines"][0]["prior"] > 0  # type: ignore[index]
    analyser.close()
    with pytest.raises(SettingsError, match="cannot be learned"):
        learn(ggp.load_text(ALONE, engine="circuit"), 1, "none", 0, never)


ALONE = """
(role one) (init (step 0)) (succ 0 1) (legal one a) (legal one b)
(<= (next (step ?n)) (true (step ?m)) (succ ?m ?n)) (<= (next won) (does one b)) (<= terminal (true (step 1)))
(<= (goal one 100) (true won)) (<= (goal one 0) (not (true won)))
"""


def invoke(*arguments: str) -> Result:
    app = typer.Typer()
    app.callback()(lambda: None)
    add_commands(app)
    return CliRunner().invoke(app, ["train", *arguments])


def test_the_command_trains_and_goes_on(tmp_path: Path) -> None:
    path, picture = tmp_path / "t.knowledge", tmp_path / "t.svg"
    small = ("tictactoe", "-o", str(path), "--memory", "8")
    done = invoke(*small, "--generations", "1", "--json", "--plot", str(picture), "--seed", "3")
    assert done.exit_code == 0, done.output
    first, last = map(json.loads, done.stdout.splitlines())
    assert (first["number"], first["final"], last["generations"], last["final"]) == (1, False, 1, True)
    assert picture.read_text(encoding="utf-8").startswith("<svg")
    again = invoke(*small, "--generations", "2")
    assert again.exit_code == 0, again.output
    assert "goes on after 1 generations" in again.stderr
    assert again.stdout.count("matches against the best") == 1
    machine = machine_of("tictactoe")
    whole = Training(machine.compiled, SMALL, find_symmetries(machine.rulesheet, machine.batches))
    while len(whole.generations) < 2:
        go_on(whole, 1)
    loaded = load_training(path, machine_of("tictactoe").rulesheet, whole.game)
    assert loaded is not None
    assert_equal(loaded.learners[0].net, whole.learners[0].net)


def test_training_goes_on_without_its_picture(tmp_path: Path) -> None:
    small = ("tictactoe", "-o", str(tmp_path / "t.knowledge"), "--memory", "8", "--seed", "3")
    picture = tmp_path / "t.svg"
    none = invoke(*small, "--minutes", "0", "--plot", str(picture))
    assert none.exit_code == 0, none.output
    assert f"no picture was drawn: no test was completed; {picture}" in none.stderr
    picture.mkdir()
    done = invoke(*small, "--generations", "2", "--plot", str(picture))
    assert done.exit_code == 0, done.output
    assert done.stderr.count("t.svg: the picture cannot be written: Is a directory") == 1
    assert done.stdout.count("matches against the best") == 2


@pytest.mark.parametrize(
    ("failing", "kept"),
    [((2,), 3), ((0, 1), None), ((3,), 2)],
    ids=["one between others", "the first one", "the last one"],
)
def test_training_goes_on_without_a_checkpoint(
    failing: tuple[int, ...], kept: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.knowledge"

    def save_or_fail(path: Path, training: Training, rulesheet: Rulesheet, name: str) -> None:
        if len(training.generations) in failing:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        save(path, training, rulesheet, name)

    monkeypatch.setattr("ggp.learning.knowledge.save_training", save_or_fail)
    done = invoke("tictactoe", "-o", str(path), "--memory", "8", "--seed", "3", "--generations", "3")
    machine = machine_of("tictactoe")
    found = load_training(path, machine.rulesheet, machine.compiled)
    assert (None if found is None else len(found.generations)) == kept
    said = done.stderr.count("t.knowledge: the checkpoint cannot be written, the next one is tried: No space left")
    assert said == (kept is not None)
    assert isinstance(done.exception, OSError) == (kept != 3)


def test_the_files_have_the_mode_that_the_umask_gives(machine: CircuitMachine, tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        save(tmp_path / "t.knowledge", Training(machine.compiled, SMALL), machine.rulesheet, "tictactoe")
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o640}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--plot", "x.txt"), "--plot: x.txt: the picture is SVG, so its name ends in .svg"),
        (("--plot", "nosuch/x.svg"), "--plot: nosuch/x.svg: there is no such folder"),
        (("--seed", "4"), "was begun with --seed 3, not 4"),
        (("--minutes", "1", "--generations", "1"), "not both"),
    ],
)
def test_mistakes_are_told(arguments: tuple[str, ...], message: str, machine: CircuitMachine, tmp_path: Path) -> None:
    path = tmp_path / "t.knowledge"
    save(path, Training(machine.compiled, SMALL), machine.rulesheet, "tictactoe")
    with pytest.raises(GgpError, match=message):
        raise invoke("tictactoe", "-o", str(path), *arguments).exception or AssertionError
    with pytest.raises(KnowledgeError, match="other rules"):
        raise invoke("noughtsandcrosses", "-o", str(path)).exception or AssertionError
    with pytest.raises(SettingsError, match="no such folder"):
        raise invoke("tictactoe", "-o", str(tmp_path / "no" / "file")).exception or AssertionError
    for folder in ("", "/", str(tmp_path)):
        with pytest.raises(SettingsError, match="that is a folder"):
            raise invoke("tictactoe", "-o", folder).exception or AssertionError
    alone = tmp_path / "alone.kif"
    alone.write_text(ALONE, encoding="utf-8")
    with pytest.raises(SettingsError, match="only one role"):
        raise invoke(str(alone), "-o", str(tmp_path / "new")).exception or AssertionError


@pytest.mark.unchecked
def test_interrupted_training_keeps_what_it_has(tmp_path: Path, machine: CircuitMachine) -> None:
    path = tmp_path / "t.knowledge"
    command = [sys.executable, "-c", COMMAND, "train", "tictactoe", "-o", str(path), "--memory", "8", "--json"]
    # What is tested is the end of a process: it need not check indices, which takes several times as long.
    unchecked = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=unchecked) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["number"] == 1
        process.send_signal(signal.SIGINT)
        last = [json.loads(line) for line in process.stdout][-1]
    assert process.returncode == EXIT_INTERRUPTED
    assert last["interrupted"]
    assert last["final"]
    found = load_training(path, machine.rulesheet, machine.compiled)
    assert found is not None
    assert len(found.generations) == last["generations"] >= 1


COMMAND = """
from typer import Typer
from ggp.commands.train import add_commands
app = Typer()
app.callback()(lambda: None)
add_commands(app)
app()
"""


def test_the_picture_has_both_curves() -> None:
    generation = Generation(1, 10.0, 100, 1_000, 0.1, 1.0, (0, 0, 0, 0, 5), 300.0, 200.0, 400.0, is_accepted=False)
    drawn = draw([generation, replace(generation, number=2, seconds=20.0, is_accepted=True)], "a < b")
    assert "a &lt; b" in drawn
    assert drawn.count('class="curve"') == 2
