"""The first screen of a study, the same in the report, the viewer, ``quaver start`` and a notebook.

What stands on it is a document, which one template (``templates/first_screen.html``) shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from markupsafe import Markup

from quaver.core.number_format import percent, rounded
from quaver.core.records import Estimate
from quaver.core.rows import at_levels, of_measures
from quaver.report.estimate_index import Results
from quaver.report.findings.prompt_rows import bar, dotted, prompt_rows
from quaver.report.findings.quality import quality, severity
from quaver.report.findings.recommendation import Reason, Recommendation
from quaver.report.page_templates import style, template

_MOST_BADGES = 6
"""Of more models, the first ones have a badge."""

_ALARMS: Final[Mapping[str, str]] = {
    "failed_calls": "of the calls failed",
    "unlabelled_answers": "of the answers have no label",
    "truncated_answers": "of the answers were cut off at max_tokens",
}

_SAID: Final[Mapping[Reason, str]] = {
    "unreadable": "unlabelled_answers",
    "cut off": "unlabelled_answers",
    "refused": "unlabelled_answers",
    "failed": "failed_calls",
}
"""Why not to use labels, and the alarm that says nothing else."""


_WHOLE: Final[Mapping[str, tuple[str, Callable[[float], str]]]] = {
    "right": ("correct_answers", percent),
    "agreement": ("gold_agreement", rounded),
    "modal label": ("flips_agreement", rounded),
}
"""What a variable's line shows of all of its labels, by what its prompts' rows show; how it is written."""


def first_screen(
    results: Results,
    recommendations: Sequence[Recommendation],
    best: Recommendation,
    badges: Mapping[str, Sequence[str]],
    said: Mapping[str, Any],
) -> dict[str, Any]:
    """What the first screen shows.

    Args:
        results: The study.
        recommendations: What is recommended of each model.
        best: That whose labels can best be used.
        badges: For each kind of recommendation its colour, a sign for those who see none, and its words.
        said: The sentences: ``verdict``, ``why``, ``moves``, ``next_step``, ``reading``, ``by_hand``.

    Returns:
        The sentences; ``badges`` of the models; ``alarms``, what is seriously wrong with the answers, and
        ``stopped``, whether nothing else can be judged; ``facts``; ``apart``, where the study departs from
        its plan; ``prompts``, those of each model (`prompt_rows`), first of the best; ``read``, how many
        percent of the answers were read how.
    """
    gate = quality([*results.audit, *results.estimates])
    known = {(finding.model, _SAID.get(finding.reason)) for finding in recommendations}
    alarms, stopped, named = list[str](), set[str](), dict[str, str]()
    for issue in gate.issues:
        model, degree = issue.cell["model"], severity(issue)
        if degree == "stop":
            stopped.add(model)
        if degree != "note" and (model, issue.measure) not in known:
            alarms.append(_alarm(issue, len(gate.models) > 1))
    for finding in (best, *recommendations):
        named[finding.model] = finding.prompt if finding.reason == "best prompt" else ""
    prompts = [prompt_rows(results, *model_and_prompt) for model_and_prompt in named.items()]
    shown = [rows for rows in prompts if rows["rows"]]
    measure, written = _WHOLE[shown[0]["kind"] if shown else "modal label"]
    return {
        "name": results.name,
        **said,
        "badges": [
            _badge(results, finding, badges, len(recommendations) > 1)
            for finding in recommendations[:_MOST_BADGES]
        ],
        "alarms": alarms,
        "stopped": stopped >= {*gate.models} != set(),
        "apart": departures(results.lock),
        "prompts": shown,
        "read": _read(of_measures(results.audit, "reader_disagreement"), best.model),
        "whole": dotted(best.known(measure), 0.0, written),
        "fields": [],
    }


def departures(lock: Mapping[str, Any]) -> list[str]:
    """That answers are stored which are not part of the study, where there are any."""
    outside = lock.get("collection", {}).get("outside")
    return [str(outside)] if outside else []


def _alarm(issue: Estimate, several: bool) -> str:
    of = f" (“{issue.cell['model']}”)" if several else ""
    return f"{percent(issue.number)} {_ALARMS[issue.measure]}{of}"


def _badge(
    results: Results, recommendation: Recommendation, badges: Mapping[str, Sequence[str]], several: bool
) -> dict[str, str]:
    """A recommendation in a few words, with its prompt."""
    tone, sign, words = badges[recommendation.kind]
    prompt = results.prompt_words(recommendation.prompt) if recommendation.prompt else ""
    return {
        "tone": tone,
        "sign": sign,
        "words": words,
        "model": recommendation.model if several else "",
        "prompt": prompt,
    }


def _read(readers: Sequence[Estimate], model: str) -> list[dict[str, Any]]:
    """How many percent of a model's answers are a label alone, one among other words, several."""
    reader = next((reader for reader in at_levels(readers, model=model) if reader.n), None)
    if reader is None:
        return []
    alone, several = reader.details["alone"] / reader.n, reader.details["several"] / reader.n
    kinds = (6, "a label alone", alone), (5, "other words too", 1 - alone - several)
    at, bars = 0.0, []
    for place, name, share in (*kinds, (3, "several labels", several)):
        if share > 0:
            bars.append(bar(place, name, at, share))
        at += share
    return bars


def screen_html(screen: Mapping[str, Any], *, styled: bool = False) -> Markup:
    """The first screen as HTML, in which every text of the study is escaped.

    Args:
        screen: What it shows.
        styled: Whether it has its style with it, and a ground of its own: a notebook may be light where the
            system is dark.
    """
    page = Markup(template("first_screen.html").render(screen=screen))
    if not styled:
        return page
    return Markup('<style>{}</style><div class="qv alone">{}</div>').format(style("screen.css"), page)
