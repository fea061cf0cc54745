"""The settings of environments."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from annotated_types import Ge, Lt

from ggp.errors import SettingsError, did_you_mean
from ggp.settings import About, Settings, declared, make


@dataclass(frozen=True, slots=True)
class EnvironmentSettings(Settings):
    """How environments observe, end and begin anew; docs/environments.md says what the choices mean."""

    layout: Annotated[Literal["bits", "bytes", "planes"], About("layout of observations and masks")] = "bytes"
    perspective: Annotated[
        Literal["fixed", "mover"],
        About("whose view observations have: the same whoever moves, or that of the role that is to move"),
    ] = "fixed"
    autoreset: Annotated[
        Literal["next_step", "same_step", "disabled"],
        About("when an environment that has ended begins anew, as Gymnasium's AutoresetMode"),
    ] = "next_step"
    reward_range: Annotated[
        tuple[float, float],
        About("rewards for the goal values 0 and 100; those between in proportion", default="(-1, 1)"),
    ] = (-1.0, 1.0)
    max_steps: Annotated[
        int, Ge(0), Lt(1 << 31), About("an environment is truncated after so many steps; 0: never")
    ] = 0
    chance: Annotated[
        Literal["inside", "explicit"],
        About("whether moves of the role `random` are drawn, or given as those of other roles"),
    ] = "inside"
    illegal: Annotated[
        Literal["raise", "first", "random"], About("what replaces an illegal move: nothing (an error), or a legal move")
    ] = "raise"
    copy: Annotated[
        bool, About("new arrays at each step; otherwise an array is written again at the step after the next")
    ] = True
    threads: Annotated[int, Ge(1), About("threads that share the environments")] = 1


def make_settings(given: dict[str, Any]) -> EnvironmentSettings:
    """Settings by name; SettingsError for one that is unknown or out of range."""
    names = [setting.name for setting in declared(EnvironmentSettings)]
    for name in given:
        if name not in names:
            raise SettingsError(f"environments have no setting {name}{did_you_mean(name, names)}")
    return make(EnvironmentSettings, given)
