"""Settings, each declared once: a field of a dataclass, with what it is for, its range and its unit.

    @dataclass(frozen=True, slots=True)
    class SearchSettings(Settings):
        exploration: Annotated[float, Ge(0), About("constant of UCB1")] = 0.25

Everything else is derived: the options of the command line (`ggp.commands.options`), the reader of settings files,
the tables in the docs, and what pydantic checks in records and shows in the API, as it reads the same annotations.
Nothing heavy is imported here: pydantic is loaded when values from outside are checked.
"""

import math
import operator
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, Lt

from ggp.errors import SettingsError, did_you_mean

if TYPE_CHECKING:
    from pydantic import ValidationError

S = TypeVar("S", bound="Settings")


@dataclass(frozen=True, slots=True)
class About:
    """What a setting is for, in a line."""

    text: str
    unit: str = ""
    default: str = ""  # said in place of the value where that is drawn or worked out

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - pydantic's own
        return {**handler(core_schema), "description": self.text, **({"unit": self.unit} if self.unit else {})}


@dataclass(frozen=True, slots=True)
class Settings:
    """Base of all settings; SettingsError for a value that is out of its range."""

    __pydantic_config__: ClassVar[dict[str, object]] = {"extra": "forbid", "strict": True, "allow_inf_nan": False}

    def __post_init__(self) -> None:
        for setting in declared(type(self)):
            setting.check(getattr(self, setting.name))


@dataclass(frozen=True, slots=True)
class Setting:
    """One field of settings as it is declared."""

    name: str
    type: type  # bool, int, float or str
    default: object  # None where it is drawn
    about: About
    choices: tuple[Any, ...] = ()  # all possible values, where there are few
    limits: tuple[Ge | Gt | Le | Lt, ...] = ()

    @property
    def option(self) -> str:
        """As the command line spells it."""
        return option_name(self.name)

    @property
    def shown_default(self) -> str:
        """For people."""
        if self.about.default or isinstance(self.default, str):
            return self.about.default or str(self.default)
        if isinstance(self.default, bool):
            return "on" if self.default else "off"
        return f"{self.default:,}" if isinstance(self.default, int) else f"{self.default:g}"

    @property
    def shown_range(self) -> str:
        """For people; empty where every value of the type is possible."""
        if self.choices:
            return " or ".join((", ".join(map(str, self.choices[:-1])), str(self.choices[-1])))
        if self.least is not None and self.most is not None:
            return f"{self.least:,} to {self.most:,}"
        signs = {Ge: "≥ ", Gt: "> ", Le: "≤ ", Lt: "< "}
        return ", ".join(f"{signs[type(limit)]}{_bound(limit):,}" for limit in self.limits)

    @property
    def least(self) -> float | None:
        return next((_bound(limit) for limit in self.limits if isinstance(limit, Ge)), None)

    @property
    def most(self) -> float | None:
        return next((_bound(limit) for limit in self.limits if isinstance(limit, Le)), None)

    def check(self, value: Any) -> None:  # noqa: ANN401 - of the type of the field
        """SettingsError where a value is out of the range."""
        is_good = value in self.choices if self.choices else all(_holds(limit, value) for limit in self.limits)
        if not is_good or (isinstance(value, float) and not math.isfinite(value)):
            wanted = self.shown_range or "a finite number"
            raise SettingsError(f"{self.name} must be {wanted}, not {value}")


def declared(kind: type[Settings]) -> tuple[Setting, ...]:
    """The settings of a class in their order, without fields that are settings themselves."""
    key: Any = kind  # mypy takes the class of frozen dataclasses for one without a hash
    return _declared(key)


@cache
def _declared(kind: Any) -> tuple[Setting, ...]:  # noqa: ANN401 - as said above
    hints = get_type_hints(kind, include_extras=True)
    found = []
    for field in fields(kind):
        about = [extra for extra in get_args(hints[field.name])[1:] if isinstance(extra, About)]
        if not about:
            continue
        plain, *extras = get_args(hints[field.name])
        choices = get_args(plain) if get_origin(plain) is Literal else ()
        limits = tuple(extra for extra in extras if isinstance(extra, Ge | Gt | Le | Lt))
        default = None if field.default is MISSING else field.default
        found.append(Setting(field.name, type(choices[0]) if choices else plain, default, about[0], choices, limits))
    return tuple(found)


def first_error(error: "ValidationError") -> str:
    """The first thing that pydantic found wrong, behind the field that it is in."""
    first = error.errors()[0]
    field, message = ".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")
    return f"{field}: {message}" if field else message


def make(kind: type[S], given: Mapping[str, Any], place: Callable[[str], str] = str) -> S:
    """Settings from values of any types; SettingsError with the place of the first that is wrong.

    place: the name of a field → how a user finds it, such as `my.toml, line 3: threads`.
    """
    check(kind, given, place)
    return kind(**given)


def make_by_name(kind: type[S], given: object, owner: str) -> S:
    """Settings from a mapping of their names; SettingsError for other names and values, and for anything else.

    owner: what has these settings, for messages.
    """
    if not isinstance(given, Mapping):
        raise SettingsError(f"settings of {owner} are a mapping from names to values, not {given!r}")
    names = [setting.name for setting in declared(kind)]
    for name in given:
        if name not in names:
            raise SettingsError(f"{owner} has no setting {name}{did_you_mean(str(name), names)}")
    return make(kind, given)


def check(kind: type[Settings], given: Mapping[str, Any], place: Callable[[str], str] = str) -> None:
    """SettingsError, as by `make`, for values that are wrong; fields that are settings themselves are not looked at."""
    from pydantic import ConfigDict, TypeAdapter, ValidationError  # noqa: PLC0415 - slow to load

    hints = get_type_hints(kind, include_extras=True)
    config = ConfigDict(strict=True, allow_inf_nan=False)
    for name, value in part_of(kind, given).items():
        try:
            TypeAdapter(hints[name], config=config).validate_python(value)
        except ValidationError as error:
            reason = error.errors()[0]["msg"]
            raise SettingsError(f"{place(name)}: {reason[:1].lower()}{reason[1:]}, not {value!r}") from None


def read_toml(path: Path, *kinds: type[Settings], leave_out: frozenset[str] = frozenset()) -> dict[str, Any]:
    """What a file sets of these kinds; SettingsError with the file, the line, the field and the reason."""
    try:
        text = path.read_bytes().decode("utf-8")
        given = tomllib.loads(text)
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{path}: not a text in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: {error}") from None

    def place(name: str) -> str:
        line = _line_of(text, name)
        return f"{path}{f', line {line}' if line else ''}: {name}"

    names = [setting.name for kind in kinds for setting in declared(kind) if setting.name not in leave_out]
    for name in given:
        if name not in names:
            raise SettingsError(f"{place(name)}: there is no such setting; the settings are {', '.join(names)}")
    for kind in kinds:
        check(kind, given, place)
    return given


def part_of(kind: type[Settings], given: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the given values that are settings of this kind."""
    return {setting.name: given[setting.name] for setting in declared(kind) if setting.name in given}


def table(kind: type[Settings], leave_out: frozenset[str] = frozenset(), *, as_options: bool = True) -> str:
    """The settings in Markdown, as the docs have them; as options of a command line or by their names."""
    lines = [f"| {'option' if as_options else 'setting'} | default | range | |", "|---|---|---|---|"]
    for setting in declared(kind):
        if setting.name in leave_out:
            continue
        option = f"`{setting.option if as_options else setting.name}`"
        if setting.type is bool and as_options:
            option += f", `--no-{setting.option[2:]}`"
        unit = f" ({setting.about.unit})" if setting.about.unit else ""
        lines.append(f"| {option} | {setting.shown_default} | {setting.shown_range} | {setting.about.text}{unit} |")
    return "\n".join(lines) + "\n"


def _line_of(text: str, name: str) -> int | None:
    """The line on which a key of the top level stands, counted from 1."""
    found = re.search(rf"""^\s*["']?{re.escape(name)}["']?\s*=""", text, re.MULTILINE)
    return None if found is None else text.count("\n", 0, found.end()) + 1


def _bound(limit: Ge | Gt | Le | Lt) -> float:
    value = getattr(limit, type(limit).__name__.lower())  # Ge has `ge`, and so on
    assert isinstance(value, int | float)
    return value


def _holds(limit: Ge | Gt | Le | Lt, value: float) -> bool:
    compare = {Ge: operator.ge, Gt: operator.gt, Le: operator.le, Lt: operator.lt}[type(limit)]
    return bool(compare(value, _bound(limit)))


def option_name(setting: str) -> str:
    """The option of a setting of this name, for messages."""
    return "--" + setting.replace("_", "-")


def check_memory(mebibytes: int) -> None:
    """SettingsError for a --memory that is more than this computer has, where that is known."""
    if os.name != "posix":
        return
    most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    if mebibytes > most:
        raise SettingsError(f"--memory: this computer has {most:,} MiB, not {mebibytes:,}")
