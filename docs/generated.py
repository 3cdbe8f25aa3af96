"""The pages of the site that are made from the code: the commands, the Python names, a page a measure."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import typer.cli
import typer.main
from mkdocs.structure.files import File, Files

import quaver
from quaver.cli.main import app
from quaver.core import registry
from quaver.estimation.declaration import Measure
from quaver.measures import FUNCTIONS
from quaver.measures._stub import stub

README = Path(__file__).parents[1] / "README.md"

GIVEN = (
    "quaver.estimation.declaration.Measure",
    "quaver.core.notebook.Estimates",
    "quaver.study.forecasts.forecast.Forecast",
    "quaver.study.collection.study_status.StudyStatus",
    "quaver.study.collection.study_variants.StudyVariants",
    "quaver.study.sources.study_source.StudySource",
    "quaver.collect.run.progress.Outcome",
    "quaver.study.collection.store_repair.Repaired",
    "quaver.study.forecasts.sizing.Sizing",
    "quaver.comparison.bounds.Judgement",
    "quaver.bundles.verification.Verification",
    "quaver.core.label_values.Decision",
    "quaver.measures.variation.consistency.Similarity",
    "quaver.measures.correctness.mixed_logit.MixedLogit",
    "quaver.measures.stability.smallest_design.Plan",
)
"""What the public functions take or give that nobody imports by itself."""


def on_files(files: Files, config: Any) -> Files:
    """Add the pages; the site generator calls this."""
    for path, text in pages():
        files.append(File.generated(config, path, content=text))
    return files


def pages() -> Iterator[tuple[str, str]]:
    """Each generated page: its path in the site and its Markdown."""
    yield "index.md", _home()
    yield "reference/commands.md", commands()
    yield "reference/python.md", _python()
    names = registry.names("measures")
    yield "measures/index.md", _measures(names)
    for name in names:
        yield f"measures/{name}.md", measure(name)


def _home() -> str:
    """The README, with its links into docs/ as the site has them."""
    text = README.read_text(encoding="utf-8")
    text = re.sub(r"\]\(docs/", "](", text)
    return re.sub(r"\]\((?!https?:|#)([^)]*?(?:LICENSE|[A-Z]+\.md|\.py|/))\)", r"]", text)


def commands() -> str:
    """Every command, its arguments and options, as the program itself explains them."""
    program = typer.main.get_command(app())
    context = program.make_context("quaver", [], resilient_parsing=True)
    text = typer.cli.get_docs_for_click(obj=program, ctx=context, name="quaver")
    text = re.sub(r"\x08\nExamples:\n((?:  .*\n?)+)", _as_code, text)
    return text.replace("# `quaver`", "# Commands", 1)


def _as_code(examples: re.Match[str]) -> str:
    return "**Examples**:\n\n```bash\n" + textwrap.dedent(examples[1]).strip() + "\n```\n"


def _python() -> str:
    """What users import: the top level, the namespaces, and what these take and give."""
    beside = "The measures themselves are [one page each](../measures/index.md)."
    sections = (
        ("`quaver`", "", _members(quaver, quaver.__all__)),
        ("`quaver.measures`", beside, _members(quaver.measures, FUNCTIONS)),
        ("`quaver.agreement`", _coefficients(), []),
        ("`quaver.errors`", "", _members(quaver.errors, set(quaver.errors.__all__) - set(quaver.__all__))),
        ("What these take and give", "", GIVEN),
    )
    lines = ["# Use Quaver from Python", ""]
    for title, about, names in sections:
        lines += [
            f"## {title}",
            "",
            *([about, ""] if about else []),
            *(_BLOCK.format(name) for name in names),
        ]
    return "\n".join(lines)


_BLOCK = "::: {}\n    options:\n      heading_level: 3\n"


def _coefficients() -> str:
    """The coefficients of agreement, each with its arguments and its documentation."""
    blocks = []
    for name in quaver.agreement.__all__:
        one = getattr(quaver.agreement, name)
        call = "".join(f"    {parameter},\n" for parameter in one.__signature__.parameters.values())
        text = _markdown(inspect.getdoc(one) or "")
        blocks.append(f"### `{name}`\n\n```python\n{name}(\n{call}) -> Estimate\n```\n\n{text}")
    return "\n\n".join(blocks)


def _members(package: ModuleType, names: Iterable[str]) -> list[str]:
    """The full names of a package's classes and functions."""
    found = [getattr(package, name) for name in sorted(names)]
    return [
        f"{one.__module__}.{one.__qualname__}"
        for one in found
        if inspect.isclass(one) or inspect.isfunction(one)
    ]


def _measures(names: list[str]) -> str:
    lines = ["# Every measure", "", "| measure | what it is |", "| --- | --- |"]
    for name in names:
        first = (inspect.getdoc(registry.load("measures", name)) or "").partition("\n\n")[0]
        lines.append(f"| [`{name}`]({name}.md) | {' '.join(first.split()).replace('|', chr(92) + '|')} |")
    return "\n".join(lines) + "\n"


def measure(name: str) -> str:
    """A measure's page: how a study asks for it, and its documentation."""
    found = registry.load("measures", name)
    head = (
        f"# {name}\n\n[Every measure](index.md) · in a study file: `measures: [{name}]`, with options "
        f"`{{use: {name}, by: […]}}`; at the prompt: `quaver measure STUDY {name}`.\n\n"
    )
    if not isinstance(found, Measure):
        return f"{head}::: {found.__module__}.{found.__qualname__}\n"
    call = re.search(rf"^def ({name}\(.*?\n\) -> .*?): \.\.\.", stub(), re.DOTALL | re.MULTILINE)
    return f"{head}```python\n{call[1] if call else name}\n```\n\n{_markdown(inspect.getdoc(found) or '')}\n"


def _markdown(docstring: str) -> str:
    """A docstring's sections as lists, and its examples as code."""
    blocks = []
    for block in docstring.split("\n\n"):
        title, _, body = block.partition(":\n")
        if title in ("Args", "Returns", "Raises"):
            entries = re.sub(r"^    (\*{0,2}\w+): ", r"- **`\1`**: ", body, flags=re.MULTILINE)
            blocks += [
                f"**{title}**",
                re.sub(r"^ {4,}", "  " if entries != body else "", entries, flags=re.MULTILINE),
            ]
        else:
            blocks.append(f"```pycon\n{block}\n```" if block.startswith(">>>") else block)
    return "\n\n".join(blocks)
