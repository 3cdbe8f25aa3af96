"""``quaver.check``: from a table of texts to a verdict on a model's labels, in one call."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from quaver.core.arguments import guarded
from quaver.core.label_values import Decision
from quaver.errors import QuaverError
from quaver.report.findings.verdict_card import Card
from quaver.study.checking.check_design import BUNDLED, PreparedCheck, consent_missing, prepared_check
from quaver.study.session import Study


@dataclass(frozen=True, slots=True)
class Check:
    """What a check found; prints as the verdict's three lines and where the report is.

    Attributes:
        study: The study, to measure, export or run on.
        verdict: May the labels be used, what moves them, what to do next.
        report: The report, an HTML file.
        file: The study file that the check left behind.
        taken: What each column was taken for, and what else was decided.
    """

    study: Study
    verdict: Card
    report: Path
    file: Path
    taken: tuple[Decision, ...]

    def __str__(self) -> str:
        return f"{self.verdict}\nThe report: {self.report}\nThe study file: {self.file}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        paths = f"The report: {escape(str(self.report))}<br>The study file: {escape(str(self.file))}"
        return f"{self.verdict._repr_html_()}<p>{paths}</p>"


@guarded
def check(
    data: Any,
    *,
    text: str | None = None,
    labels: Sequence[str] = (),
    model: Any = BUNDLED,
    gold: str | None = None,
    coders: Sequence[str] = (),
    instruction: str | None = None,
    n: Annotated[int, Field(ge=1)] = 50,
    prompts: Annotated[int, Field(ge=1)] = 10,
    repeats: Annotated[int, Field(ge=1)] | None = None,
    temperature: Annotated[float, Field(ge=0)] = 0.0,
    to: str | Path | None = None,
    yes: bool = False,
    budget: Annotated[float, Field(gt=0)] | None = None,
    seed: int = 0,
    encoding: str | None = None,
    separator: str | None = None,
    sheet: str | None = None,
) -> Check:
    """Check whether you may use the labels that a model gives to your texts.

    Asks the model about a sample of the texts, with the instruction in other words, with the labels in two
    orders, and more than once; then judges how far the labels stay the same and, where you have true
    labels, how often they are right. It leaves a study file behind to go on from. Whatever was asked is kept:
    the same check again asks nothing.

    Args:
        data: The texts: a table's path, a data frame, or a list.
        text: The column of texts; recognised by its name or its length, if left out.
        labels: The labels to choose from; those in the column of true labels, if left out.
        model: ``provider/model`` (``openai/gpt-5-mini``, ``ollama/llama3.2``), the path of a GGUF file, the
            bundled model by default; or your own function ``annotate(text, prompt)`` or ``annotate(text)``.
        gold: The column of true labels; recognised by its name, if left out.
        coders: Columns of several coders' labels; recognised by their values, if left out.
        instruction: What to ask about each text. A plain default asks which label fits best.
        n: How many texts to ask about, at most; they are drawn at random.
        prompts: How many prompts: the instruction in other words and, from four on, each of these with the
            labels in two orders.
        repeats: How often each prompt asks about each text: twice, or five times where your function takes no
            prompt, if left out.
        temperature: How freely the model answers; 0 takes the most likely answer.
        to: The folder for answers, report and study file: by default beside the table and named after it, or
            ``check`` for data without a file.
        yes: Whether to ask a model that costs money.
        budget: US dollars to spend at most, which agrees to spending them.
        seed: Of the sample, and of every draw.
        encoding: Of a text file.
        separator: Between the cells of CSV.
        sheet: Of a spreadsheet.

    Returns:
        The verdict, the report's path, and the study.

    Raises:
        QuaverError: A column, a label or a model is not there, or the model costs money and neither ``yes``
            nor ``budget`` agrees to it.
    """
    options = {"encoding": encoding, "separator": separator, "sheet": sheet}
    try:
        prepared = prepared_check(
            data,
            text=text,
            labels=labels,
            model=model,
            gold=gold,
            coders=coders,
            instruction=instruction,
            n=n,
            prompts=prompts,
            repeats=repeats,
            temperature=temperature,
            to=to,
            budget=budget,
            seed=seed,
            written={name: value for name, value in options.items() if value is not None},
        )
    except QuaverError as error:
        error.where, error.fix = _in_python(error.where), _in_python(error.fix)
        raise
    plan = prepared.plan()
    if prepared.spends and plan.stored < plan.calls and not (yes or budget):
        raise consent_missing(plan)
    prepared.study.run()
    return judged(prepared)


def _in_python(text: str | None) -> str | None:
    """A text in which options of the command are arguments."""
    return text and re.sub(r"--([a-z]+)( (?=[\"A-Z]))?", r"\1=", text)


def judged(prepared: PreparedCheck) -> Check:
    """The verdict on what a check has collected, with its report written."""
    study = prepared.study
    return Check(study, study.verdict(), study.report(), prepared.file, prepared.taken)
