"""A study file to start from, made for a table: what its columns are, and what would be asked of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from quaver.core.label_values import Decision
from quaver.design.spec.models_spec import model_of_name
from quaver.study.checking.check_design import HERE, instructions_of, max_tokens, rows_of
from quaver.study.checking.check_file import CheckDesign, study_text
from quaver.study.checking.instruction_texts import instruction_texts
from quaver.study.checking.text_table import TextTable, check_rows, read_text_table
from quaver.study.imports.label_columns import MOST_LABELS, Table

_PROMPTS, _REPEATS = 10, 2
_FIRST = "# A study of {}, made by `quaver init --from`. Change it as you like; then:"


def starting_file(
    source: Path,
    path: Path,
    *,
    text: str | None,
    labels: Sequence[str],
    gold: str | None,
    coders: Sequence[str],
    model: str,
    written: Mapping[str, str],
) -> tuple[str, list[Decision]]:
    """The text of a study file for a table of texts, and what each column was taken for.

    Args:
        source: The table.
        path: Where the study file will lie.
        text: The column of texts, where it is named.
        labels: The labels to choose from; those that occur, if left out.
        gold: The column of true labels, where it is named.
        coders: The columns of coders, where they are named.
        model: ``provider/model``, or a name that Quaver knows.
        written: How the table is written, where that had to be said: ``encoding``, ``separator``, ``sheet``.

    Raises:
        ItemError: The table cannot be read.
        UnknownName: There is no such column, or no such provider.
        QuaverError: No column of texts, or no labels, were found.
    """
    table = Table(source, rows_of(source, written))
    found = read_text_table(table, text, gold, coders, labels)
    check_rows(table, found.text)
    groups = _groups(table, found)
    made = model_of_name(model, where="--model")
    design = CheckDesign(
        name=source.stem,
        instructions=instruction_texts(None, instructions_of(_PROMPTS)),
        is_own=False,
        reorders=True,
        model=model,
        sample=None,
        repeats=_REPEATS,
        temperature=0.0,
        max_tokens=max_tokens(model, found.labels),
        is_held=made["use"] in HERE,
        budget=None,
        seed=0,
        written=written,
    )
    name = "".join(sign if sign.isprintable() else "?" for sign in source.name)
    whole = study_text(path, source, found, design, first=_FIRST.format(name), study=str(path))
    shown = [Decision("group?", one, "few values; `groups:` compares the labels by it") for one in groups]
    return whole.replace("\n\nprompt:\n", f"{_further(groups, found)}\n\nprompt:\n", 1), [
        *found.taken,
        *shown,
    ]


def _groups(table: Table, found: TextTable) -> list[str]:
    """The columns that are left and hold few values, each of several texts."""
    taken = {found.text, found.item, found.gold, *found.coders}
    return [
        name
        for name in table.free()
        if name not in taken
        and table.holds_texts(name)
        and 1 < len(table.values(name)) <= min(MOST_LABELS, len(table.rows) // 2)
    ]


def _further(groups: Sequence[str], found: TextTable) -> str:
    """Keys of items that the table allows, commented out."""
    names = ", ".join(_quoted(name) for name in groups)
    first = _quoted(groups[0]) if groups else _quoted(found.text)
    lines = [f"  #groups: [{names}] # compare the labels by these columns"] if groups else []
    lines += [f"  #where: {{{first}: …}} # only the rows with this value"]
    lines += ["  #sample: 100 # draw this many texts; without this line, all of them"]
    lines += ["  #examples: train.csv # another table, for prompts that show examples (shots)"]
    return "\n" + "\n".join(lines)


def _quoted(name: str) -> str:
    """A column's name as YAML reads it."""
    return name if name.isidentifier() and name.isascii() else '"' + name.replace('"', '\\"') + '"'
