"""What a reasoning prompt seems to cost, and how much of that is the parser's doing, on a real model.

    python benchmarks/evaluators.py [--items N] [--tokens N] [--model NAME_OR_FILE] [--trec FILE]

Voters of the American National Election Study of 1996, as questions with two lettered options; or, with
``--trec``, a file of TREC questions (``COARSE:fine question`` a line, Latin-1) with six. Two prompts ask for
the letter alone, a third for steps and then a last line. The same stored answers are read by three
evaluators; the tables are those of docs/evaluators.md.
"""

from __future__ import annotations

import argparse
import csv
import logging
import sys
import tempfile
from pathlib import Path
from typing import Any

from machine import machine

from quaver.core.records import Estimate
from quaver.study.session import Study

EVALUATORS = ["first_character", "answer_markers", "final_line"]
VOTES: dict[str, Any] = {
    "task": {"labels": [{"code": "clinton", "name": "Clinton"}, {"code": "dole", "name": "Dole"}]},
    "items": {
        "source": "anes96",
        "id": "respondent",
        "gold": {"column": "vote", "map": {"0": "clinton", "1": "dole"}},
        "text": "I am {{ age }} years old and live in {{ place }}. I {{ education }}. "
        "I call myself {{ party }}, and my views are {{ ideology }}.",
    },
    "prompt": {
        "instruction": "For whom does this person vote?\nA. Clinton\nB. Dole",
        "answers": {"clinton": "A", "dole": "B"},
    },
}
CLASSES = {
    "ABBR": "an abbreviation",
    "DESC": "a description or definition",
    "ENTY": "a thing",
    "HUM": "a person or group",
    "LOC": "a place",
    "NUM": "a number or date",
}
LETTERS = dict(zip(CLASSES, "ABCDEF", strict=True))
QUESTIONS: dict[str, Any] = {
    "task": {"labels": [{"code": code, "name": name} for code, name in CLASSES.items()]},
    "items": {"source": "items.csv", "id": "id", "gold": "gold", "text": "{{ question }}"},
    "prompt": {
        "instruction": "What does this question ask for?\n"
        + "\n".join(f"{letter}. {CLASSES[code]}" for code, letter in LETTERS.items()),
        "answers": LETTERS,
    },
}
STEPS = (
    "First think step by step and explain in a few sentences what speaks for each option. "
    "Only then answer, on a last line of its own: FINAL: and the letter."
)


def study(asked: argparse.Namespace, folder: Path) -> Study:
    """The experiment, with its items in its folder where they come from a file."""
    base = VOTES if asked.trec is None else QUESTIONS
    if asked.trec is not None:
        with (folder / "items.csv").open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["id", "gold", "question"])
            for number, line in enumerate(asked.trec.read_text(encoding="latin-1").splitlines()):
                kind, _, question = line.partition(" ")
                rows.writerow([number, kind.partition(":")[0], question])
    formats = {
        "letter": {"postfix": "Answer with the letter only.", "max_tokens": 8},
        "polite": {
            "postfix": "Please reply with nothing but the letter of the right option.",
            "max_tokens": 8,
        },
        "steps": {"postfix": STEPS, "max_tokens": asked.tokens},
    }
    source = folder / "items.csv" if asked.trec is not None else base["items"]["source"]
    document = {
        **base,
        "name": "evaluators",
        "items": {**base["items"], "source": str(source), "sample": asked.items},
        "variants": [{"use": "prompts", "factor": "format", "prompts": formats}],
        "models": [{"name": "model", "use": "llamacpp", "model": asked.model, "context": 1024}],
        "decoding": {"greedy": {"max_tokens": asked.tokens}},
        "evaluators": EVALUATORS,
    }
    return Study.open(document, folder=folder / "study")


def table(columns: list[str], rows: list[list[str]]) -> None:
    """A table in Markdown."""
    for row in (columns, ["---"] * len(columns), *rows):
        print("| " + " | ".join(row) + " |")
    print()


def shown(one: Estimate) -> str:
    """A value with its interval, in words where there is none."""
    if one.value is None:
        return one.reason or ""
    ends = "" if one.low is None or one.high is None else f" [{one.low:.2f}, {one.high:.2f}]"
    return f"{one.value:.2f}{ends}"


def report(opened: Study) -> None:
    """Accuracy by prompt and evaluator, flips, shares recovered, and a reasoning answer in full."""
    accuracy = {(e.cell["variant"], e.cell["evaluator"]): shown(e) for e in opened.measure("accuracy")}
    variants = [variant.id for variant in opened.experiment.variants]
    table(["accuracy", *EVALUATORS], [[v, *(accuracy[v, e] for e in EVALUATORS)] for v in variants])
    flips = [e for e in opened.measure("evaluator_flips") if e.measure == "evaluator_flips"]
    wrong = {tuple(e.cell.values()): e for e in opened.measure("evaluator_flips") if "newly" in e.measure}
    kinds = ["same", "gained", "lost", "changed"]
    rows = [
        [
            *(e.cell["variant"], e.cell["second"]),
            *(str(e.details[kind]) for kind in kinds),
            shown(wrong[tuple(e.cell.values())]),
        ]
        for e in flips
    ]
    table(["against first_character", "read by", *kinds, "of the right now wrong"], rows)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=40)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--model", default="smollm2-135m-instruct")
    parser.add_argument("--trec", type=Path)
    asked = parser.parse_args()
    logging.getLogger().setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        opened = study(asked, Path(folder))
        outcome = opened.run()
        sys.stdout.write(f"{machine()}; {outcome.done} answers in {outcome.seconds:.0f} s\n\n")
        report(opened)


if __name__ == "__main__":
    main()
