"""A folder of rulesheets → each drawn after some random moves, on one page.

`python -m tests.bench.boards_survey RULESHEETS OUT` writes OUT/NAME.svg, OUT/index.html and OUT/layouts.txt, where each
game has a line on what was found; look at the page. Only the interpreter is used: about a second for each game.
"""

import sys
from collections import Counter
from html import escape
from pathlib import Path
from random import Random

import ggp
from ggp.boards import Layout, Picture, find_layout, make_picture, picture_svg
from ggp.errors import GgpError
from ggp.game import State

STEPS = 14
SEED = 3


def some_steps_on(state: State) -> State:
    """The state after some random steps, or the last one that is not terminal."""
    rng = Random(SEED)
    for _ in range(STEPS):
        after = state.play({role: rng.choice(state.legal_moves(role)) for role in state.game.roles})
        if after.is_terminal:
            break
        state = after
    return state


def described(layout: Layout, picture: Picture) -> str:
    """In a line: the boards, and what is listed."""
    sizes = Counter((board.shape, f"{board.height:g}x{board.width:g}") for board in picture.boards)
    boards = [f"{count} × {shape} {size}" if count > 1 else f"{shape} {size}" for (shape, size), count in sizes.items()]
    clicks = ", ".join(f"{name}: {len(found)}" for (name, _), found in layout.clicks.items())
    parts = [", ".join(boards) or "no board", f"{len(picture.values)} values"]
    parts += [f"{len(picture.rest)} facts as text"] if picture.rest else []
    parts += [f"clicks of {clicks}"] if clicks else []
    return "; ".join(parts)


def survey(folder: Path, out: Path) -> list[str]:
    """Writes the pictures; a line for each game."""
    out.mkdir(parents=True, exist_ok=True)
    lines: list[str] = []
    page = ["<!doctype html><meta charset=utf-8><title>boards</title><body style='font-family:sans-serif'>"]
    for path in sorted(folder.glob("*.kif"), key=lambda path: path.stem.lower()):
        try:
            game = ggp.load(path, "interpreter")
            state = some_steps_on(game.initial_state)
        except GgpError as error:
            lines.append(f"{path.stem}: {error}")
            continue
        layout = find_layout(game.rulesheet, game.machine, game.metadata.drawing)
        picture = make_picture(layout, state.terms)
        (out / f"{path.stem}.svg").write_text(picture_svg(picture, path.stem), encoding="utf-8")
        lines.append(f"{path.stem}: {described(layout, picture)}")
        page.append(f"<figure style='display:inline-block'><img src='{escape(path.stem)}.svg' alt=''>")
        page.append(f"<figcaption>{escape(lines[-1])}</figcaption></figure>")
    (out / "index.html").write_text("\n".join(page), encoding="utf-8")
    (out / "layouts.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return lines


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit("usage: python -m tests.bench.boards_survey RULESHEETS OUT")
    lines = survey(Path(sys.argv[1]), Path(sys.argv[2]))
    print(*lines, sep="\n")
    drawn = sum("no board" not in line for line in lines)
    print(f"{drawn} of {len(lines)} have a board")


if __name__ == "__main__":
    main()
