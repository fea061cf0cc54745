"""The sub-command cache: what is kept on disk between runs."""

import os
from collections.abc import Iterator
from dataclasses import asdict
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any

import typer

import ggp
from ggp.cache import FOLDER_VARIABLE, default_cache, end_warming, is_warm, mark_warm
from ggp.commands.shared import JsonOption, print_json
from ggp.library import game_names

if TYPE_CHECKING:
    from ggp.simulation.state_machine import CircuitMachine

_MEBIBYTE = 1 << 20


def add_commands(app: typer.Typer) -> None:
    """Adds the sub-command and its own sub-commands to the application."""
    group = typer.Typer(help="Show or clear what is kept on disk between runs.", no_args_is_help=True)
    group.command("show")(show_cache)
    group.command("warm")(warm_cache)
    group.command("clear")(clear_cache)
    app.add_typer(group, name="cache")


def show_cache(as_json: JsonOption = False) -> None:
    """Show where the cache is and how much of each kind it holds.

    The environment sets its folder (GGP_CACHE; "off" for no cache) and its limit in bytes (GGP_CACHE_LIMIT), which is
    for everything but the kernels.
    """
    cache = default_cache()
    kinds = cache.usage()
    if as_json:
        folder = None if cache.folder is None else str(cache.folder)
        usage = {kind: asdict(used) for kind, used in kinds.items()}
        print_json({"folder": folder, "limit_bytes": cache.limit_bytes, "kinds": usage})
        return
    if cache.folder is None:
        typer.echo(f"no cache ({FOLDER_VARIABLE} is off, or there is no home folder)")
        return
    typer.echo(f"{cache.folder}, at most {_size(cache.limit_bytes)} without the kernels")
    for kind, used in kinds.items():
        typer.echo(f"  {kind}: {_files(used.files)}, {_size(used.size_bytes)}")
    if not kinds:
        typer.echo("  empty")


def warm_cache(again: Annotated[bool, typer.Option(help="Do it even where it was done before.")] = False) -> None:
    """Compile all kernels and the shipped games ahead, so that nothing waits for it later; half a minute, once."""
    if is_warm() and not again:
        return
    for name in _warm_all():
        typer.echo(f"  ready: {name}")


def _warm_all() -> Iterator[str]:
    """Compile all kernels by using them, and the shipped games; gives the name of each game that is done."""
    from ggp.search.loading import load_kernels  # noqa: PLC0415 - numba is slow to load

    for name in game_names():
        machine: Any = ggp.load(name, "circuit").machine
        _warm(machine)
        yield name
    load_kernels()
    yield "searches"
    mark_warm()


def _warm(machine: "CircuitMachine") -> None:
    from ggp.simulation.machine_code import compile_steps, is_worthwhile  # noqa: PLC0415 - numba is slow to load

    state = machine.initial_state
    moves = tuple(machine.legal_moves(state, role)[0] for role in machine.roles)
    machine.is_terminal(machine.next_state(state, moves))
    for role in machine.roles:
        machine.goal(state, role)
        machine.percepts(state, moves, role)
    simulator = machine.simulator()
    simulator.playouts(1)
    if is_worthwhile(simulator.steps):
        simulator.use(compile_steps(simulator.steps, default_cache()))
        simulator.playouts(1)


def clear_cache() -> None:
    """Remove everything from the cache."""
    typer.echo(f"removed {_files(default_cache().clear())}")


def _files(number: int) -> str:
    return f"{number} file{'' if number == 1 else 's'}"


def _size(size_bytes: int) -> str:
    return f"{size_bytes / _MEBIBYTE:,.1f} MiB"


def _end_with_parent() -> None:
    """Its end closes the pipe that is our standard input."""
    os.read(0, 1)
    end_warming()
    os._exit(1)


if __name__ == "__main__":  # how `ggp.cache.warm_in_background` runs it
    os.nice(19)
    Thread(target=_end_with_parent, daemon=True).start()
    warm_cache()
    end_warming()
