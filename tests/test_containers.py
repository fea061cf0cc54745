"""`docker-compose up` for real: a match and tournaments between services, what comes of them in the mounted folder.

Runs where a container engine answers. The base image is $GGP_BASE_IMAGE, or the local image `ggp-base`, or what the
Dockerfile names if a registry can be reached, or one that tools/base-image makes.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.request import urlopen

import pytest

from gamemaster.record import read_record
from gamemaster.replay import replay

ROOT = Path(__file__).parent.parent
CONTEXT = (
    "Dockerfile",
    ".dockerignore",
    "docker-compose.yml",
    ".env",
    "pyproject.toml",
    "constraints.txt",
    "README.md",
    "LICENSE",
)
FOLDERS = ("containers", "ggp", "players", "gamemaster", "rules")
PROFILES = ("match", "tournament", "postgresql", "pages")
MOST_BYTES = 400_000_000  # of the image
MINUTES = 60.0
CONNECT = """
import socket, sys, time
for _ in range(int(sys.argv[3])):
    try:
        socket.create_connection((sys.argv[1], int(sys.argv[2])), 5).close()
        sys.exit(0)
    except OSError as error:
        time.sleep(0.2)
sys.exit(str(error))
"""

pytestmark = pytest.mark.docker


def succeeds(*command: str) -> bool:
    return (
        shutil.which(command[0]) is not None
        and not subprocess.run(command, capture_output=True, check=False).returncode
    )


def compose_command() -> list[str]:
    """The old `docker-compose` or the new `docker compose`, whichever is here."""
    if succeeds("docker-compose", "version"):
        return ["docker-compose"]
    if succeeds("docker", "compose", "version"):
        return ["docker", "compose"]
    pytest.skip("neither docker-compose nor docker compose is installed")


def base_image() -> str:
    if not succeeds("docker", "info"):
        pytest.skip("no container engine answers")
    named = os.environ.get("GGP_BASE_IMAGE")
    if named:
        return named
    default = "debian:bookworm-slim"
    if succeeds("docker", "image", "inspect", "ggp-base") or not succeeds("docker", "pull", default):
        if succeeds("docker", "image", "inspect", "ggp-base") or succeeds(str(ROOT / "tools/base-image"), "ggp-base"):
            return "ggp-base"
        pytest.skip("no base image: no registry answers, and tools/base-image could not make one")
    return default


class Project:
    """A copy of the project under a compose project of its own, without kernels unless they are asked for."""

    def __init__(self, folder: Path, command: list[str], base: str) -> None:
        self.folder = folder
        self._command = [*command, "--project-name", f"ggptest{os.getpid()}"]
        self._environment = {**os.environ, "BASE": base, "STARTCLOCK": "1", "PLAYCLOCK": "1"}
        self.environment = {"KERNELS": "none", "PLAYER": "montecarlo"}

    def run(self, *arguments: str, profiles: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self._command, *(f"--profile={profile}" for profile in profiles), *arguments],
            cwd=self.folder,
            env=self._environment | self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=10 * MINUTES,
        )

    def wait_for(self, text: str, service: str) -> None:
        """Returns when a service has said something."""
        command = [*self._command, "logs", "--follow", "--no-color", service]
        with subprocess.Popen(
            command, cwd=self.folder, env=self._environment | self.environment, stdout=subprocess.PIPE, text=True
        ) as following:
            assert following.stdout is not None
            found = any(text in line for line in following.stdout)
            following.terminate()
        assert found

    def reaches(self, service: str, host: str, port: int = 9147, attempts: int = 1) -> bool:
        """Whether a connection from one service to another can be made."""
        program = ["--entrypoint", "python", service, "-c", CONNECT, host, str(port), str(attempts)]
        return self.run("run", "--rm", "--no-deps", "-T", *program).returncode == 0


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    command, base = compose_command(), base_image()
    folder = tmp_path_factory.mktemp("project")
    for name in CONTEXT:
        shutil.copy(ROOT / name, folder)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    found = Project(folder, command, base)
    built = found.run("build", "gamemaster")
    assert built.returncode == 0, built.stdout + built.stderr
    yield found
    found.run("down", "--volumes", "--timeout", "1", profiles=PROFILES)


def test_a_match_leaves_its_record_in_the_mounted_folder(project: Project) -> None:
    done = project.run("up", "--abort-on-container-exit", "--exit-code-from", "gamemaster")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert "PLAY" not in done.stdout  # what players log would stand between the lines of the match
    (path,) = (project.folder / "records").glob("*.json")
    record = read_record(path)
    path.unlink()
    assert record.game == "tictactoe"
    assert record.status == "terminal"
    assert record.faults == ()
    assert len(list(replay(record))) == len(record.steps) + 1 >= 6


@pytest.mark.slow
def test_with_kernels_the_match_is_played_by_mcts(project: Project) -> None:
    project.environment = {}
    try:
        built = project.run("build", "gamemaster")
        assert built.returncode == 0, built.stdout + built.stderr
        test_the_image_is_small()
        test_a_match_leaves_its_record_in_the_mounted_folder(project)
    finally:
        project.environment = {"KERNELS": "none", "PLAYER": "montecarlo"}


def test_the_image_is_small() -> None:
    shown = subprocess.run(
        ["docker", "image", "inspect", "--format", "{{.Size}}", "ggp"], capture_output=True, text=True, check=True
    )
    assert int(shown.stdout) < MOST_BYTES


def test_pages_are_served_on_this_computer_only(project: Project) -> None:
    started = project.run("up", "--detach", "pages", profiles=["pages"])
    assert started.returncode == 0, started.stdout + started.stderr
    address = project.run("port", "pages", "8080", profiles=["pages"]).stdout.strip()
    assert address == "127.0.0.1:8080"
    project.wait_for("http://", "pages")
    with urlopen(f"http://{address}/games", timeout=60) as answer:
        assert "tictactoe" in answer.read().decode()
    assert "token: " in project.run("logs", "--no-color", "pages", profiles=["pages"]).stdout
    project.run("stop", "pages", profiles=["pages"])


def test_only_the_game_master_reaches_the_players(project: Project) -> None:
    project.run("up", "--detach", "mcts", "random")
    assert project.reaches("gamemaster", "mcts", attempts=100)
    assert project.reaches("gamemaster", "random", attempts=100)
    assert not project.reaches("mcts", "random")
    assert not project.reaches("random", "mcts")
    published = project.run("port", "random", "9147").stdout.strip()
    assert published in ("", ":0")


@pytest.mark.parametrize(
    ("profile", "manager", "results"),
    [
        ("tournament", "tournament", "containers"),
        ("postgresql", "tournament-postgresql", "containers-postgresql"),
    ],
)
def test_a_tournament_that_was_stopped_goes_on(profile: str, manager: str, results: str, project: Project) -> None:
    shorten(project.folder / "containers" / f"{manager}.toml")
    built = project.run("build", profiles=[profile])
    assert built.returncode == 0, built.stdout + built.stderr
    begun = project.run("up", "--detach", profiles=[profile])
    assert begun.returncode == 0, begun.stdout + begun.stderr
    project.wait_for("[ 2/12]", manager)
    stopped = project.run("stop", profiles=[profile])
    assert stopped.returncode == 0, stopped.stdout + stopped.stderr
    log = project.run("logs", "--no-color", manager).stdout
    assert f"to go on: docker-compose run --rm {manager} tournament resume /containers/{manager}.toml" in log
    before = finished(log)

    done = project.run("up", "--abort-on-container-exit", "--exit-code-from", manager, profiles=[profile])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert "interpreter" not in done.stdout  # the kernels that the image has are used
    shown = finished(done.stdout)
    after = shown[len(before) :] if shown[: len(before)] == before else shown  # a log may be shown from its beginning
    assert 2 <= len(before) < 12
    assert 11 - len(before) <= len(after) <= 12 - len(before)  # one may have ended while the manager was stopped
    folder = project.folder / "records" / results
    names = {path.stem for path in (folder / "matches").iterdir()}
    assert names == {*before, *after}
    assert len(names) == 12
    for name in names:
        record = read_record(folder / "matches" / f"{name}.json")
        assert record.status == "terminal"
        assert len(list(replay(record))) == len(record.steps) + 1
    assert "montecarlo" in (folder / "report.html").read_text(encoding="utf-8")


def test_only_the_manager_reaches_the_database(project: Project) -> None:
    """Whoever reaches it is trusted."""
    started = project.run("up", "--detach", "database", profiles=["postgresql"])
    assert started.returncode == 0, started.stdout + started.stderr
    assert project.reaches("tournament-postgresql", "database", 5432, attempts=100)
    assert not project.reaches("random", "database", 5432)


def shorten(spec: Path) -> None:
    """Twelve matches of the quickest game; two of them take no time, the others seconds."""
    text = spec.read_text(encoding="utf-8").replace("playclock = 2", "playclock = 1")
    spec.write_text(text.replace('[[games]]\nrules = "connectfour"\n', ""), encoding="utf-8")


def finished(log: str) -> list[str]:
    """The matches that have got a result."""
    return re.findall(r"\[[ \d]\d/12\] (\S+):", log)
