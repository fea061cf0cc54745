"""Settings → the options of a command."""

import inspect
from collections.abc import Callable, Collection, Iterable
from typing import Annotated, Any, Literal, Optional

import typer

from ggp.settings import Setting, Settings, declared


def options_of(
    kind: type[Settings], only: Collection[str] | None = None, leave_out: Collection[str] = (), panel: str | None = None
) -> list[inspect.Parameter]:
    """A parameter for each setting, all of them or `only` these; None where the option is not given."""
    return [
        inspect.Parameter(
            setting.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[Optional[_type(setting)], _option(setting, panel)],  # noqa: UP045 - made at run time
        )
        for setting in declared(kind)
        if setting.name not in leave_out and (only is None or setting.name in only)
    ]


def with_options(function: Callable[..., Any], options: Iterable[inspect.Parameter]) -> Callable[..., Any]:
    """The function as a command that has these options next to its own; it is given them in `**settings`."""

    def command(**given: Any) -> Any:  # noqa: ANN401 - as typer has checked them
        return function(**given)

    own = [each for each in inspect.signature(function).parameters.values() if each.kind is not each.VAR_KEYWORD]
    command.__signature__ = inspect.Signature([*own, *options])  # type: ignore[attr-defined]
    command.__doc__ = function.__doc__
    command.__name__ = getattr(function, "__name__", "command")
    return command


def given(settings: dict[str, Any]) -> dict[str, Any]:
    """Those that were given."""
    return {name: value for name, value in settings.items() if value is not None}


def _type(setting: Setting) -> Any:  # noqa: ANN401 - a type
    return Literal[setting.choices] if setting.choices and setting.type is str else setting.type


def _option(setting: Setting, panel: str | None) -> Any:  # noqa: ANN401 - typer's own
    names = [setting.option, f"--no-{setting.option[2:]}"] if setting.type is bool else [setting.option]
    unit = f" ({setting.about.unit})" if setting.about.unit else ""
    choices = f"; {setting.shown_range}" if setting.choices and setting.type is not str else ""
    text = f"{setting.about.text[:1].upper()}{setting.about.text[1:]}{unit}{choices}."
    return typer.Option(
        names[0] if len(names) == 1 else "/".join(names),
        min=setting.least,
        max=setting.most,
        help=text,
        show_default=setting.shown_default,
        rich_help_panel=panel,
    )
