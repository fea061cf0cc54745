"""Outcomes of matches ⇄ a file of JSON lines, the settings first, so that what was interrupted can go on."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from ggp.errors import SettingsError
from tests.bench.matches import ArenaSettings, Outcome

_SETTINGS = TypeAdapter(ArenaSettings)
_OUTCOME = TypeAdapter(Outcome)


@dataclass(frozen=True, slots=True)
class Record:
    """A file to which each outcome is added as soon as there is one."""

    path: Path
    settings: ArenaSettings

    def open(self) -> Sequence[Outcome]:
        """The outcomes of earlier runs; SettingsError when they are of other settings.

        A last line that was cut off is removed.
        """
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        lines = text[: text.rfind("\n") + 1].splitlines()
        if not lines:
            self.path.write_bytes(_SETTINGS.dump_json(self.settings) + b"\n")
            return ()
        try:
            found = _SETTINGS.validate_json(lines[0])
            outcomes = [_OUTCOME.validate_json(line) for line in lines[1:]]
        except ValidationError as error:
            raise SettingsError(f"{self.path} is no record of matches: {error}") from None
        if found != self.settings:
            raise SettingsError(f"{self.path} has matches of other settings: {found}")
        self.path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        return outcomes

    def add(self, outcome: Outcome) -> None:
        with self.path.open("ab") as file:
            file.write(_OUTCOME.dump_json(outcome) + b"\n")
