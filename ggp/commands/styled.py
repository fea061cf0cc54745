"""Lines of a drawing → lines of a terminal, in colours that it has."""

from collections.abc import Iterable, Iterator

from rich.text import Text

from ggp.boards import Style, TextLine

_STYLES: dict[Style, str] = {
    "": "",
    "dim": "dim",
    "title": "bold",
    "white": "bold",
    "black": "",
    "blue": "bold blue",
    "red": "bold red",
    "green": "bold green",
    "orange": "yellow",
    "purple": "bold magenta",
    "sky": "bold cyan",
    "yellow": "bold yellow",
    "grey": "dim",
}


def styled(lines: Iterable[TextLine]) -> Iterator[Text]:
    """Each line with the terminal's own styles; without a terminal they are plain."""
    for line in lines:
        yield Text.assemble(*((span.text, _STYLES[span.style]) for span in line))
