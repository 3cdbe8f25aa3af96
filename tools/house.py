"""Draws the plan of `src/quaver` from its imports: ``python tools/house.py`` writes it, ``--check`` compares.

A part is a folder or a module at the root. It stands one floor above the highest part that it imports, so
that every arrow leads down; an arrow that a longer way down implies is not drawn. The picture is
``docs/images/house.svg``; the table of the parts, each with the first line of its docstring, stands in
``docs/design.md`` between two marks.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "quaver"
PAGE = ROOT / "docs" / "design.md"
PICTURE = ROOT / "docs" / "images" / "house.svg"
MARKS = ("<!-- the house, by tools/house.py -->", "<!-- the house ends -->")

Graph = dict[str, set[str]]
"""What each name imports."""


def modules(source: Path = SOURCE) -> dict[str, Path]:
    """Every module by its dotted name."""
    found = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(source: Path = SOURCE) -> Graph:
    """What each module imports of Quaver, wherever in the file and also for its types alone."""
    known = modules(source)
    graph: Graph = {}
    for name, path in known.items():
        wanted = _imported(ast.parse(path.read_text(encoding="utf-8")))
        graph[name] = {one for one in (_module(want, known) for want in wanted) if one and one != name}
    return graph


def _imported(tree: ast.AST) -> Iterable[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{one.name}" for one in node.names)


def _module(name: str, known: Mapping[str, Path]) -> str | None:
    """The module that an imported name lies in."""
    return name if name in known else _module(name.rpartition(".")[0], known) if "." in name else None


def parts(graph: Graph, folder: str = "quaver") -> Graph:
    """The imports among the children of a folder, each with all that lies in it."""
    found: Graph = {}
    for name, wanted in graph.items():
        if (part := _part(name, folder)) is not None:
            others = (_part(one, folder) for one in wanted)
            found.setdefault(part, set()).update(one for one in others if one is not None and one != part)
    return found


def _part(name: str, folder: str) -> str | None:
    if not name.startswith(folder + "."):
        return "__init__" if name == folder == "quaver" else None
    return name.removeprefix(folder + ".").partition(".")[0]


def circles(graph: Graph) -> list[list[str]]:
    """Names that import each other in a ring, each ring once."""
    reached = {name: _below(graph, name) for name in graph}
    rings = {frozenset(one for one in below if name in reached[one]) for name, below in reached.items()}
    return sorted(sorted(ring) for ring in rings if ring)


def _below(graph: Graph, name: str) -> set[str]:
    found: set[str] = set()
    left = list(graph[name])
    while left:
        if (one := left.pop()) not in found:
            found.add(one)
            left += graph[one]
    return found


def floors(graph: Graph) -> dict[str, int]:
    """On which floor each name stands, from 1.

    Raises:
        ValueError: There is a circle.
    """
    if rings := circles(graph):
        raise ValueError(f"circles of imports: {rings}")

    @cache
    def floor(name: str) -> int:
        return 1 + max((floor(one) for one in graph[name]), default=0)

    return {name: floor(name) for name in graph}


def _drawn(graph: Graph) -> Graph:
    """The imports that no longer way down implies."""
    return {
        name: {one for one in wanted if not any(one in _below(graph, other) for other in wanted - {one})}
        for name, wanted in graph.items()
    }


def purpose(part: str, source: Path = SOURCE) -> str:
    """The first line of a part's docstring."""
    path = source / part / "__init__.py" if (source / part).is_dir() else source / f"{part}.py"
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]


_WIDTH, _HEIGHT, _GAP, _BETWEEN = 138, 46, 18, 44


def picture(graph: Graph) -> str:
    """The plan as SVG: what imports nothing at the bottom, the commands at the top."""
    level = floors(graph)
    rows = [sorted(name for name in graph if level[name] == n) for n in range(max(level.values()), 0, -1)]
    wide = max(map(len, rows)) * (_WIDTH + _GAP) + _GAP
    high = len(rows) * (_HEIGHT + _BETWEEN) + _GAP
    place: dict[str, tuple[float, float]] = {}
    for y, row in enumerate(rows):
        left = (wide - len(row) * (_WIDTH + _GAP) + _GAP) / 2
        for x, name in enumerate(row):
            place[name] = (left + x * (_WIDTH + _GAP), _GAP + y * (_HEIGHT + _BETWEEN))
    ties = [(name, one) for name, some in _drawn(graph).items() for one in some]
    lines = [_line(place[name], place[one]) for name, one in sorted(ties)]
    boxes = [_box(name, *place[name]) for name in sorted(place)]
    style = (
        "text{font:14px system-ui,sans-serif;fill:#1b2733}.small{font-size:11px;fill:#5a6b7b}"
        "rect{fill:#fff;stroke:#51718f;stroke-width:1.2}path{fill:none;stroke:#8aa4bd;stroke-width:1.2}"
    )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {high:g}" role="img">'
        "<title>The parts of Quaver; each imports only what stands below it</title>"
        f'<style>{style}</style><rect width="100%" height="100%" style="fill:#f7f9fb;stroke:none"/>'
    )
    return "\n".join([head, *lines, *boxes, "</svg>"]) + "\n"


def _line(above: tuple[float, float], below: tuple[float, float]) -> str:
    (x1, y1), (x2, y2) = above, below
    x1, y1, x2 = x1 + _WIDTH / 2, y1 + _HEIGHT, x2 + _WIDTH / 2
    bend = (y2 - y1) / 2
    return f'<path d="M{x1:g} {y1:g}C{x1:g} {y1 + bend:g} {x2:g} {y2 - bend:g} {x2:g} {y2:g}"/>'


def _folders(part: str) -> list[str]:
    return sorted(path.parent.name for path in (SOURCE / part).glob("*/__init__.py"))


def _box(name: str, x: float, y: float) -> str:
    count = len(_folders(name))
    note = f"{count} folders" if count else ""
    title = escape(f"{name}: {purpose(name)}")
    middle = x + _WIDTH / 2
    return (
        f'<g><title>{title}</title><rect x="{x:g}" y="{y:g}" width="{_WIDTH}" height="{_HEIGHT}" rx="5"/>'
        f'<text x="{middle:g}" y="{y + 20:g}" text-anchor="middle">{escape(name)}</text>'
        f'<text class="small" x="{middle:g}" y="{y + 36:g}" text-anchor="middle">{note}</text></g>'
    )


def table(graph: Graph) -> str:
    """The parts from the top floor down: what each is for, its folders, what it imports."""
    level = floors(graph)
    lines = ["| part | what it is for | imports |", "| --- | --- | --- |"]
    for name in sorted(graph, key=lambda one: (-level[one], one)):
        lines.append(f"| **`{name}`** | {purpose(name)} | {', '.join(sorted(graph[name])) or 'nothing'} |")
        lines += [f"| `{name}/{one}` | {purpose(f'{name}/{one}')} | |" for one in _folders(name)]
    return "\n".join(lines)


def page(text: str, graph: Graph) -> str:
    """The page with its table made anew."""
    before, _, rest = text.partition(MARKS[0])
    after = rest.partition(MARKS[1])[2]
    return f"{before}{MARKS[0]}\n\n{table(graph)}\n\n{MARKS[1]}{after}"


def main(arguments: list[str] | None = None) -> int:
    """Write the picture and the table, or say whether they are those of the code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether they are out of date")
    check = parser.parse_args(arguments).check
    graph = parts(imports())
    made = {PICTURE: picture(graph), PAGE: page(PAGE.read_text(encoding="utf-8"), graph)}
    stale = [
        path for path, text in made.items() if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    if check and stale:
        names = ", ".join(path.name for path in stale)
        print(f"out of date: {names}; run python tools/house.py", file=sys.stderr)
        return 1
    for path in [] if check else stale:
        path.write_text(made[path], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
