"""The beginning of a strategy: a commented file, and a test that passes."""

import keyword
import re
from pathlib import Path

from ggp.errors import SettingsError

_TEMPLATES = Path(__file__).parent / "templates"


def write_skeleton(name: str, folder: Path) -> tuple[Path, Path]:
    """Writes `NAME.py` with a class, and `test_NAME.py`; SettingsError for a name that is none, or files that exist."""
    module = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.removesuffix(".py")).replace("-", "_").lower()
    if not re.fullmatch(r"[a-z][a-z0-9_]*", module) or keyword.iskeyword(module):
        raise SettingsError(f"a strategy is called by letters, digits and _, as my_bot or MyBot, not {name!r}")
    shown = "".join(part[:1].upper() + part[1:] for part in module.split("_"))
    files = folder / f"{module}.py", folder / f"test_{module}.py"
    for file in files:
        if file.exists():
            raise SettingsError(f"{file}: it exists already")
    given = {"name": shown, "module": module, "file": files[0].name, "test": files[1].name}
    for file, template in zip(files, ("strategy.txt", "test.txt"), strict=True):
        text = (_TEMPLATES / template).read_text(encoding="utf-8")
        try:
            file.write_text(text.format(**given), encoding="utf-8")
        except OSError as error:
            raise SettingsError(f"{file}: {error.strerror or error}") from None
    return files
