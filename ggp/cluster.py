"""A cluster of computers by Ray: its address, and how it is reached. Only this module loads Ray."""

import logging
import os
import warnings
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from ggp.errors import SettingsError

HERE = "ray"  # the address of a cluster that is started on this computer, and stopped again
MINE = "ray://auto"  # of the one that this computer is a node of
STORE_BYTES = 2**27  # of the object store of a cluster that is started here; a record takes some kB

_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",  # sends no statistics
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",  # prints nothing in between of what we show
    "RAY_IGNORE_UNHANDLED_ERRORS": "1",  # likewise
    "RAY_ENABLE_AUTO_CONNECT": "0",  # does not start a new cluster when the connection is lost
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # tasks without a GPU are nothing to be warned of
}
_SILENT = {"log_to_driver": False, "logging_level": logging.ERROR}
_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}  # listen at 127.0.0.1 only, as Ray does everywhere but in Linux
_MOST_CHARACTERS = 200


def check_address(address: str) -> None:
    """SettingsError for what is no address of a cluster, and where Ray is not installed."""
    if address != HERE and not address.startswith("ray://"):
        raise SettingsError(f"--cluster: ray, {MINE} or ray://host:port, not {address}")
    if find_spec("ray") is None:
        raise SettingsError("--cluster needs Ray: pip install 'ggp[cluster]'")


def connect(address: str, processors: int, store_bytes: int = STORE_BYTES) -> ModuleType:
    """Ray, connected until its `shutdown`; both are for a cluster that is started here. SettingsError if there is none.

    What is started here ends with the thread that calls this.
    """
    check_address(address)
    for name, value in (_ENVIRONMENT | _LOOPBACK if address == HERE else _ENVIRONMENT).items():
        os.environ.setdefault(name, value)  # they count when Ray is loaded
    try:
        ray = import_module("ray")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # what matters is an exception too
            if address == HERE:
                sizes = {"num_cpus": processors, "object_store_memory": store_bytes}
                ray.init("local", include_dashboard=False, **sizes, **_SILENT)
            else:
                ray.init("auto" if address == MINE else address, **_SILENT)
    except (OSError, RuntimeError, ValueError, ImportError) as error:
        raise SettingsError(f"--cluster {address}: {one_line(error)}") from None
    return ray


def one_line(error: BaseException) -> str:
    """The first words of an explanation that may go on for pages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = (lines[0] if lines else type(error).__name__)[:_MOST_CHARACTERS]
    return "".join(letter if letter.isprintable() else "?" for letter in text)
