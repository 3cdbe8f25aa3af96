"""``README.md`` in a bundle: what a reviewer who has never seen Quaver does with it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from quaver.core.number_format import count
from quaver.core.records import Estimate
from quaver.report.page.method import departures, measured
from quaver.report.page_words import presentation_of
from quaver.report.tables.printed_tables import markdown_text
from quaver.study.sources.bundle_source import Bundle

NAME = "README.md"

_FILES = {
    "report.html": "the results with charts, for any browser; nothing else is needed to read it",
    "estimates.csv": "every number with its interval, a row each",
    "estimates.json": "the same numbers as Quaver reads them",
    "annotations.parquet": "the label that each answer was read as, or why it has none",
    "responses.db": "every answer of the models as it came (SQLite)",
    "withheld.json": "which answers were left out, since they quote a text",
    "items.json": "the items: ids, gold labels, groups and fields",
    "study.lock.json": "everything that the study resolved to: prompts, models, settings, seeds, versions",
    "noise.json": "how far the model's engine repeats itself",
    "accepted.json": "how many labels may be accepted so that few of them are wrong, and how that was asked",
    "packed.json": "what is known from packing: versions, prices of the models, what was left out",
    "paraphrases.json": "how the paraphrases of the prompt were made",
}

_CHECK = """import hashlib, json, sys, zipfile

path = sys.argv[1]
with open(path, "rb") as file:
    print("digest", hashlib.sha256(file.read()[:-73]).hexdigest())
archive = zipfile.ZipFile(path)
for name, digest in json.loads(archive.read("manifest.json"))["files"].items():
    print("as packed" if hashlib.sha256(archive.read(name)).hexdigest() == digest else "CHANGED", name)"""
"""Checks an archive without Quaver; its last 73 bytes hold the digest itself."""

_COLUMNS = {
    "measure": "what was measured; the columns after it say of which model, prompt and so on",
    "value": "the estimate; empty where it is undefined, and `reason` says why",
    "low, high": "the ends of its interval, at the level in `confidence_level`",
    "n, unit": "on how many of what the number rests, and what the interval resamples",
    "estimand": "what the interval holds for: these prompts (`fixed`), prompts like these (`population`), or "
    "the next prompt (`next`)",
    "warnings": "what limits the number or its interval",
    "excluded": "how many answers were left out, and why",
    "method, reference": "how it was computed, and where it is defined",
}


def reviewer_readme(
    source: Bundle, lock: Mapping[str, Any], estimates: Sequence[Estimate], files: Collection[str]
) -> str:
    """The text of the file."""
    name = str(lock.get("study", {}).get("name", "study"))
    version = str(lock.get("versions", {}).get("quaver", ""))
    known = dict(_FILES)
    for field in source.spec.task.fields:
        shown = markdown_text(field)
        known[f"report-{field}.html"] = f"the results of the field {shown} with charts"
        known |= {f"field-{field}.{file}": f"{what} (field {shown})" for file, what in _FILES.items()}
    listed = {file: what for file, what in known.items() if file in files}
    listed |= {file: "as the authors wrote it" for file in sorted(files) if file not in known}
    parts = [
        f"# {markdown_text(name)}",
        f"This archive holds a whole study of labels that a language model gave to texts: {_size(lock)}. You "
        "can read its results, check that nothing was changed since it was packed, and have every number "
        "that follows from the answers computed again. You need no model, no key and no account. It was "
        f"packed by Quaver {markdown_text(version)}.".replace(" .", "."),
        *(markdown_text(line) for line in departures(lock)),
        "## Read the results",
        "Extract `report.html` and open it in a browser. It is whole by itself: tables, charts and the data "
        "behind them are inside, and nothing is loaded from a network.",
        "## Check that nothing was changed",
        "The authors publish the SHA-256 digest of the archive, for instance in the paper. With Quaver, this "
        "compares the digest and computes every label and every number again "
        "(`BUNDLE` is the archive, `SHA256` the published digest):",
        f"```bash\npip install quaver{f'=={version}' if version else ''}\n"
        "quaver verify BUNDLE --digest SHA256\n```",
        "It makes this file, the report and the tables again too, and says what nobody can find out from an "
        "archive.",
        "Without Quaver, save these lines as `check.py` and run `python check.py BUNDLE`. They print the "
        "digest and compare every file with its checksum in `manifest.json`; they compute no number again.",
        f"```python\n{_CHECK}\n```",
        "The checksums show that the archive is complete and unchanged. They do not show who made it: "
        "compare the digest with the one that was published.",
        "## What the numbers mean",
        "`estimates.csv` has a row for each number:",
        _table(("column", "what it says"), {f"`{key}`": what for key, what in _COLUMNS.items()}),
        *_measures(estimates),
        "## What was left out",
        _left_out(source, lock),
        "## What is in it",
        _table(("file", "what it holds"), {f"`{file}`": what for file, what in listed.items()}),
        "`manifest.json` lists the SHA-256 and the size of every file.",
    ]
    return "\n\n".join(parts) + "\n"


def _size(lock: Mapping[str, Any]) -> str:
    models = len(lock.get("models", {}))
    return ", ".join(
        [
            count(int(lock.get("items", {}).get("n", 0)), "item"),
            count(len(lock.get("variants", ())), "prompt"),
            *([count(models, "model")] if models else []),
        ]
    )


def _measures(estimates: Sequence[Estimate]) -> list[str]:
    how = measured(estimates)
    if not how:
        return []
    said = {f"`{name}`": markdown_text(_axis(name, text) + text) for name, text in how.items()}
    return [
        "The measures of this study:",
        _table(("measure", "what the number is, and how it was computed"), said),
    ]


def _axis(measure: str, method: str) -> str:
    """What a measure's number is, where neither its name nor its method says so."""
    axis = presentation_of(measure).axis
    known = axis == measure.replace("_", " ") or method.casefold().startswith(axis.casefold())
    return "" if known else f"{axis}: "


def _left_out(source: Bundle, lock: Mapping[str, Any]) -> str:
    withheld, outside = source.withheld, lock.get("collection", {}).get("outside", "")
    parts = [markdown_text(outside)] if outside else []
    if stayed := source.facts.get("stayed"):
        parts.append(markdown_text(f"What the study does not use was left out: {'; '.join(stayed)}."))
    if source.has_texts:
        parts.append("The items' texts, the prompts and every stored answer of the study are in it.")
        return "\n\n".join(parts)
    answers = (
        f" {count(withheld, 'answer')} that {'quotes' if withheld == 1 else 'quote'} a text "
        f"{'was' if withheld == 1 else 'were'} withheld; the labels are kept, and `quaver verify` does not "
        "read these answers again."
    )
    texts = (
        "The authors do not pass on the items' texts. The texts, the prompts that show them, and every "
        "string that holds six words in a row of one are left out; `[left out]` stands in their place. The "
        "items' ids, gold labels and groups are kept, and so are all labels." + (answers if withheld else "")
    )
    return "\n\n".join([*parts, texts])


def _table(heads: tuple[str, str], rows: Mapping[str, str]) -> str:
    lines = [f"| {left} | {right} |" for left, right in rows.items()]
    return "\n".join([f"| {heads[0]} | {heads[1]} |", "| --- | --- |", *lines])
