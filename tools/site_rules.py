"""A hook of mkdocs: the rulesheets that pages link to are files of the site."""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel

_ROOT = Path(__file__).parent.parent


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Adds the rulesheets in `rules/`: they are outside `docs_dir`, and pages link to them as `../rules/`."""
    for path in sorted((_ROOT / "rules").rglob("*.kif")):
        name = path.relative_to(_ROOT).as_posix()
        file = File.generated(config, f"../{name}", abs_src_path=str(path))
        file.dest_uri, file.inclusion = name, InclusionLevel.INCLUDED
        files.append(file)
