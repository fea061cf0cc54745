"""`docker-compose up` for real: a match between services, its record in the mounted folder, players kept apart.

Runs where a container engine answers. The base image is $GGP_BASE_IMAGE, or the local image `ggp-base`, or what the
Dockerfile names if a registry can be reached, or one that tools/base-image makes.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gamemaster.record import read_record
from gamemaster.replay import replay

ROOT = Path(__file__).parent.parent
CONTEXT = (
    "Dockerfile",
    ".dockerignore",
    "docker-compose.yml",
    "pyproject.toml",
    "constraints.txt",
    "README.md",
    "LICENSE",
)
PACKAGES = ("ggp", "players", "gamemaster", "rules")
MINUTES = 60.0

pytestmark = [pytest.mark.docker, pytest.mark.xdist_group("containers")]


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
    """A copy of the project under a compose project of its own."""

    def __init__(self, folder: Path, command: list[str], base: str) -> None:
        self.folder = folder
        self._command = [*command, "--project-name", f"ggptest{os.getpid()}"]
        self._environment = {**os.environ, "BASE": base, "STARTCLOCK": "1", "PLAYCLOCK": "1"}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self._command, *arguments],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=10 * MINUTES,
        )


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    command, base = compose_command(), base_image()
    folder = tmp_path_factory.mktemp("project")
    for name in CONTEXT:
        shutil.copy(ROOT / name, folder)
    for name in PACKAGES:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    found = Project(folder, command, base)
    built = found.run("build", "gamemaster")
    assert built.returncode == 0, built.stdout + built.stderr
    yield found
    found.run("down", "--volumes", "--timeout", "1")


def test_a_match_leaves_its_record_in_the_mounted_folder(project: Project) -> None:
    done = project.run("up", "--abort-on-container-exit", "--exit-code-from", "gamemaster")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    (path,) = (project.folder / "records").glob("*.json")
    record = read_record(path)
    assert record.game == "tictactoe"
    assert record.status == "terminal"
    assert record.faults == ()
    assert len(list(replay(record))) == len(record.steps) + 1 >= 6


def test_only_the_game_master_reaches_the_players(project: Project) -> None:
    project.run("up", "--detach", "montecarlo", "random")
    code = """
import socket, sys, time
for _ in range(int(sys.argv[2])):
    try:
        socket.create_connection((sys.argv[1], 9147), 5).close()
        sys.exit(0)
    except OSError as error:
        time.sleep(0.2)
sys.exit(str(error))
"""

    def reaches(service: str, host: str, attempts: int = 1) -> bool:
        command = ["run", "--rm", "--no-deps", "-T", "--entrypoint", "python", service, "-c", code, host, str(attempts)]
        return project.run(*command).returncode == 0

    assert reaches("gamemaster", "montecarlo", attempts=100)
    assert reaches("gamemaster", "random", attempts=100)
    assert not reaches("montecarlo", "random")
    assert not reaches("random", "montecarlo")
    published = project.run("port", "random", "9147").stdout.strip()
    assert published in ("", ":0")
