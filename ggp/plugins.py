"""A user's own Python code by its name: `FILE.py:NAME` or `MODULE:NAME` → the object, or one clear line."""

import importlib
import importlib.util
import re
import sys
import traceback
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from ggp.errors import SettingsError, did_you_mean

_NAME = re.compile(r"(?P<home>.+\.py|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):(?P<name>[A-Za-z_]\w*)")
_PREFIX = "ggp_plugin_"  # of the names of modules from files, so that none stands in for a module of the same name


@dataclass(frozen=True, slots=True)
class Plugin:
    """Where an object of the user is."""

    home: str  # a file that ends in .py, or the full name of a module
    name: str  # of a function or class there

    def __str__(self) -> str:
        return f"{self.home}:{self.name}"

    @property
    def is_file(self) -> bool:
        return self.home.endswith(".py")


def parse_plugin(text: str) -> Plugin | None:
    """None where the text names no object in this form; SettingsError for a file without a name, as in `bots.py:`.

    A name begins with a letter, so that an address such as `localhost:9147` is none.
    """
    if text.endswith(".py:"):
        raise SettingsError(f"{text!r}: the name of a function or class is missing after the colon")
    found = _NAME.fullmatch(text)
    return Plugin(found["home"], found["name"]) if found and found["home"] != ".py" else None


def placed_plugin(text: str, base: Path) -> str:
    """The same with the path of its file below `base`, unless it is absolute; any other text as it is."""
    plugin = parse_plugin(text)
    if plugin is None or not plugin.is_file:
        return text
    return str(replace(plugin, home=str(base.absolute() / plugin.home)))


def load_plugin(plugin: Plugin) -> Any:  # noqa: ANN401 - whatever the user made
    """Imports its module, at most once in a process, and gives the object.

    The folder of a file, and for a module the current folder, come last in the search path: their files stand in for
    no installed module. SettingsError, with the place in the user's file, where there is no such object.
    """
    module = _file_module(Path(plugin.home)) if plugin.is_file else _module(plugin.home)
    try:
        return getattr(module, plugin.name)
    except AttributeError:
        meant = did_you_mean(plugin.name, [name for name in vars(module) if not name.startswith("_")])
        raise SettingsError(f"{plugin.home}: nothing there is called {plugin.name!r}{meant}") from None


def fault_at(error: BaseException, home: str) -> str:
    """`FILE, line N: Type: message`: the last line of the user's module that had a part in an exception."""
    lines = [at.lineno for at in traceback.extract_tb(error.__traceback__) if _is_home(at.filename, home)]
    if isinstance(error, SyntaxError) and error.filename and _is_home(error.filename, home):
        lines.append(error.lineno)
    line = f", line {lines[-1]}" if lines and lines[-1] else ""
    said = error.msg if isinstance(error, SyntaxError) else str(error)
    first = said.partition("\n")[0]
    return f"{home}{line}: {type(error).__name__}{f': {first}' if first else ''}"


def _is_home(file: str, home: str) -> bool:
    if home.endswith(".py"):
        return Path(file).absolute() == Path(home).absolute()
    return file == getattr(sys.modules.get(home), "__file__", None)


def _file_module(path: Path) -> ModuleType:
    if not path.is_file():
        raise SettingsError(f"{path}: there is no such file")
    name = _PREFIX + re.sub(r"\W", "_", str(path.absolute()))
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    _find_also_in(path.absolute().parent)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the user wrote is told in one line
        del sys.modules[name]
        raise _told(error, str(path)) from None
    return module


def _module(name: str) -> ModuleType:
    _find_also_in(Path.cwd())
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the user wrote is told in one line
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing and f"{name}.".startswith(f"{missing}."):
            raise SettingsError(f"there is no module {name!r}: {missing!r} is not found") from None
        raise _told(error, name) from None


def _told(error: BaseException, home: str) -> SettingsError:
    return SettingsError(f"it cannot be imported: {fault_at(error, home)}")


def _find_also_in(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
