"""The study that labels all texts: made of a check's study file, with the prompts that are worth asking."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from quaver.core.number_format import count, percent
from quaver.core.replaced_file import replace_bytes
from quaver.core.seeds import derive
from quaver.design.calls.lock_file import write_made
from quaver.design.items.item_data import items_from, written_items
from quaver.design.spec.yaml_file import read_yaml
from quaver.errors import QuaverError
from quaver.report.findings.recommendation import Recommendation
from quaver.report.findings.verdict_card import Card, best_of
from quaver.study.checking.check_design import model_entry
from quaver.study.labelling.prompts_worth_asking import PromptVotes, Votes
from quaver.study.session import Study
from quaver.study.sources.study_file_source import asking

_HEAD: Final = "# Labels all texts of {}, made by `quaver label`: change that file, not this one.\n"
_THEN: Final = "# Asks a second model about the doubtful texts of {}, made by `quaver label`.\n"

_LABELS: Final = "labels"
"""What is added to the name of the study file that labels all texts."""

_ID: Final = "quaver_id"
"""The column of ids in a file of doubtful texts."""

_OF_A_SAMPLE: Final = ("sample", "seed")
"""Keys of items that choose some of them."""


@dataclass(frozen=True, slots=True)
class PromptChoice:
    """The prompts that are asked about each text, and why these.

    Attributes:
        variants: Their ids.
        reason: Why so many, in a sentence.
        forecast: What one prompt and the votes of several would be worth; empty where one is recommended.
        recommended: What the check recommends about the labels.
    """

    variants: tuple[str, ...]
    reason: str
    forecast: tuple[Votes, ...]
    recommended: Recommendation


def chosen_prompts(
    check: Study, verdict: Card, votes: int | None, least: int = 1, *, anyway: bool
) -> PromptChoice:
    """Choose the prompts by what a check found.

    Args:
        check: The check.
        verdict: What it found.
        votes: How many prompts are wanted; those that are worth it, if None.
        least: How many to ask at least, since texts are doubtful where prompts disagree.
        anyway: Whether to go on where the check says that the labels should not be used.

    Raises:
        QuaverError: The check says that these labels should not be used, and nobody insists.
    """
    recommended = best_of(verdict.recommendations)
    if recommended.kind == "do not use" and not anyway:
        raise QuaverError(
            "these labels should not be used",
            where=str(check.folder),
            expected="a check that finds the labels fit to use",
            found=verdict.verdict,
            fix=f"{verdict.next_step} Or label anyway with --anyway, which the labelled file will say",
        )
    design = check.experiment
    ids = [variant.id for variant in design.variants]
    path = _made(_study_file(check), _LABELS)
    before = read_yaml(path)["sample"]["variants"] if path.is_file() and votes is None else []
    before = before if {*before} <= {*ids} else []
    if recommended.prompt and votes is None and before in ([], [recommended.prompt]):
        return PromptChoice((recommended.prompt,), "the check recommends this prompt alone", (), recommended)
    seen = check.annotations().filter(pl.col("evaluator").cast(pl.String) == check.spec.evaluators[0].title)
    if recommended.model:
        seen = seen.filter(pl.col("model").cast(pl.String) == recommended.model)
    given = PromptVotes(seen, ids, design.labels.codes, derive(check.spec.seed, "votes"))
    forecast = tuple(given.forecast())
    worth = min(votes or given.worth_asking(), len(ids))
    size = worth if votes else min(max(least, len(before) or worth), len(ids))
    chosen = given.most_typical(size, before)
    doubt = f"{count(worth, 'prompt')} would do, but only several show which texts are doubtful"
    why = doubt if size == least > worth else _why(size, forecast)
    return PromptChoice(tuple(chosen), why, forecast, recommended)


def _why(size: int, forecast: Sequence[Votes]) -> str:
    """Why so many prompts are asked, or what is known of so many."""
    shown = {votes.prompts: votes.wrong for votes in forecast}
    if size not in shown:
        return "as you asked"
    against = "the gold labels" if forecast[0].by_gold else "the vote of all prompts"
    found = f"{count(size, 'prompt')} would differ from {against} in {percent(shown[size])} of the texts"
    others = [f"{count(one, 'prompt')} in {percent(wrong)}" for one, wrong in shown.items() if one != size]
    return ", ".join([found, *others])


def label_study(check: Study, choice: PromptChoice, budget: float | None, model: str | None) -> Study:
    """The study of all texts with the chosen prompts, which takes over the check's answers."""
    home = _study_file(check)
    document = read_yaml(home)
    document["name"] = f"{check.spec.name}: labels"
    for key in _OF_A_SAMPLE:
        document["items"].pop(key, None)
    if model and len(check.spec.models) > 1:
        names = [one.name for one in check.spec.models]
        document["models"] = [document["models"][names.index(model)]]
    document["sample"] = {"variants": list(choice.variants)}
    document["repeats"] = 1
    document["reuse"] = [_beside(check.folder, home.parent)]
    functions = asking(check.source).plugins.functions
    return _opened(document, home, _LABELS, _HEAD.format(home.name), budget, functions)


def study_of_doubtful(labelled: Study, doubtful: Sequence[str], model: Any, budget: float | None) -> Study:
    """The study that asks a second model about some texts, with the first prompt."""
    home = _study_file(labelled)
    document = read_yaml(home)
    document["name"] = f"{labelled.spec.name}, asked again"
    wanted = set(doubtful)
    rows = [{_ID: item.id, **item.fields} for item in labelled.experiment.items if item.id in wanted]
    target = home.with_name(f"{home.name.split('.')[0]}.doubtful.jsonl")
    replace_bytes(target, written_items(items_from(rows, where="doubtful texts")))
    for key in ("encoding", "separator", "sheet", "where", "line", *_OF_A_SAMPLE):
        document["items"].pop(key, None)
    document["items"] |= {"source": target.name, "id": _ID}
    entry, functions = model_entry(model)
    document["models"] = [entry]
    document["sample"] = {"variants": [labelled.experiment.variants[0].id]}
    document.pop("reuse", None)
    return _opened(document, home, "doubtful", _THEN.format(home.name), budget, functions)


def _opened(
    document: Any,
    home: Path,
    name: str,
    head: str,
    budget: float | None,
    functions: Mapping[str, Callable[..., Any]],
) -> Study:
    for key in ("until", "small", "budget"):
        document.pop(key, None)
    for one in document.get("decoding", {}).values():
        if isinstance(one, Mapping):
            one.pop("repeats", None)  # type: ignore[attr-defined]
    if budget is not None:
        document["budget"] = {"money": budget}
    path = write_made(document, _made(home, name), head)
    return Study.open(path, functions=functions)


def _made(home: Path, name: str) -> Path:
    """A study file that is made of a check's."""
    return home.with_name(f"{home.name.split('.')[0]}.{name}.yaml")


def _study_file(study: Study) -> Path:
    path = study.source.positions.path
    if path is None or not isinstance(read_yaml(path).get("items"), Mapping):
        raise QuaverError(
            "this study cannot be gone on from",
            where=str(study.folder),
            expected="a study file whose `items` say where the texts are, as `quaver check` writes it",
            found="a study without such a file",
        )
    return path


def _beside(folder: Path, home: Path) -> str:
    """A folder's path from another one, with its name."""
    path = Path(os.path.relpath(folder.resolve(), home.resolve()))
    return path.as_posix() if path.name else f"../{folder.resolve().name}"
