"""The sub-command cache: what is kept on disk between runs."""

import os
from dataclasses import asdict
from threading import Thread

import typer

from ggp.cache import FOLDER_VARIABLE, default_cache, end_warming, is_warm, kernel_folder
from ggp.commands.shared import JsonOption, print_json
from ggp.library import game_names

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


def warm_cache() -> None:
    """Compile all kernels ahead, so that nothing waits for it later; a few minutes, once."""
    if is_warm():
        return
    from ggp.search.loading import load_kernels  # noqa: PLC0415 - numba is slow to load

    typer.echo("compiling kernels, once for this version; this takes a few minutes")
    load_kernels()
    _load_environments()
    typer.echo(f"{_files(sum(1 for _ in kernel_folder().glob('*.kernel')))} compiled")


def _load_environments() -> None:
    import numpy as np  # noqa: PLC0415 - slow to load, as the following

    from ggp.env import make_vec  # noqa: PLC0415

    environments = make_vec(game_names()[0], 1)
    step = environments.reset()
    moves = environments.random_moves(np.random.default_rng(0), step)
    for kind in (np.int32, np.int64):
        environments.reset()
        environments.step(moves.astype(kind))


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
