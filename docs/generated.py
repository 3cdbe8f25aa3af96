"""The pages of the site that are made from the code: the commands, the Python names, a page a measure."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import gallery_reports  # beside this file; the site generator puts its folder on the path
import python_reference
import study_file_reference
import typer.cli
import typer.main
from docstring_markdown import markdown
from mkdocs.structure.files import File, Files

from quaver.cli.main import app
from quaver.core import registry
from quaver.estimation.declaration import Measure


def on_files(files: Files, config: Any) -> Files:
    """Add the pages; the site generator calls this."""
    for path, text in (*pages(), *gallery_reports.pages()):
        if former := files.get_file_from_path(path):  # a bundle, packed again
            files.remove(former)
        files.append(File.generated(config, path, content=text))
    return files


def pages() -> Iterator[tuple[str, str]]:
    """Each generated page: its path in the site and its Markdown."""
    yield "reference/commands.md", commands()
    yield "reference/study-file.md", study_file_reference.page()
    yield from python_reference.pages()
    names = registry.names("measures")
    yield "measures/index.md", _measures(names)
    for name in names:
        yield f"measures/{name}.md", measure(name)


def commands() -> str:
    """Every command, its arguments and options, as the program itself explains them."""
    program = typer.main.get_command(app())
    context = program.make_context("quaver", [], resilient_parsing=True)
    text = typer.cli.get_docs_for_click(obj=program, ctx=context, name="quaver")
    text = re.sub(r"\x08\nExamples:\n((?:  .*\n?)+)", _as_code, text)
    return text.replace("# `quaver`", "# Commands", 1)


def _as_code(examples: re.Match[str]) -> str:
    return "**Examples**:\n\n```bash\n" + textwrap.dedent(examples[1]).strip() + "\n```\n"


_QUESTIONS = {
    "stability": "Is the label the same when you ask again, or in other words?",
    "sensitivity": "Which texts and classes change with the prompt?",
    "factors": "What moves the labels?",
    "accuracy": "Are the labels right, and is the model as sure as it is right?",
    "coders": "Does the model agree with people?",
    "answers": "How many answers have a label, and does the reading rule matter?",
    "readiness": "Is the model ready for use?",
}
"""What the measures of a section of the report answer; other measures come last."""


def _measures(names: list[str]) -> str:
    lines = ["# Every measure", ""]
    found = {name: registry.load("measures", name) for name in names}
    sections = {
        name: getattr(getattr(one, "presentation", None), "section", "") for name, one in found.items()
    }
    for section, question in (*_QUESTIONS.items(), ("", "Other measures")):
        own = [name for name in names if (sections[name] if sections[name] in _QUESTIONS else "") == section]
        lines += [f"## {question}", "", "| measure | what it is |", "| --- | --- |"]
        for name in own:
            first = (inspect.getdoc(found[name]) or "").partition("\n\n")[0]
            lines.append(f"| [`{name}`]({name}.md) | {' '.join(first.split()).replace('|', chr(92) + '|')} |")
        lines.append("")
    return "\n".join(lines)


def measure(name: str) -> str:
    """A measure's page: how a study asks for it, and its documentation."""
    found = registry.load("measures", name)
    head = (
        f"# {name}\n\n[Every measure](index.md) · in a study file: `measures: [{name}]`, with options "
        f"`{{use: {name}, by: […]}}`; at the prompt: `quaver measure STUDY {name}`.\n\n"
    )
    if not isinstance(found, Measure):
        return f"{head}::: {found.__module__}.{found.__qualname__}\n"
    arguments = ",\n    ".join(
        re.sub(r"(\b[a-z_]\w*\.)+(?=[A-Z])", "", str(one)) for one in _arguments(found)
    )
    return f"{head}```python\n{name}(\n    {arguments},\n)\n```\n\n{markdown(inspect.getdoc(found) or '')}\n"


def _arguments(found: Measure) -> list[str]:
    """A measure's arguments as they are written, keyword-only ones behind a star."""
    first, *rest = found.__signature__.parameters.values()
    return [first.name, "*", *(str(one) for one in rest)]
