"""Sentences on people and models: whether they agree with each other as well as people do."""

from __future__ import annotations

from markupsafe import Markup

from quaver.core.number_format import count
from quaver.core.records import Estimate
from quaver.report.estimate_index import Results
from quaver.report.page_numbers import interval, number

_ALL = "all"
_MOST_NAMED = 5


def coder_gaps(results: Results) -> list[Estimate]:
    """The gaps between people and each model, over all prompts and of each, by the first evaluator."""
    first = results.evaluators[:1]
    found = [
        one
        for one in results.anywhere("coder_agreement_gap")
        if one.value is not None and one.cell.get("evaluator") in (*first, None)
    ]
    return results.in_order(found)


def coder_sentences(results: Results) -> list[Markup]:
    """How well people agree with each other and with each model, and with which prompts clearly less."""
    return [*_gaps_said(results), *replacement_sentences(results)]


def replacement_sentences(results: Results) -> list[Markup]:
    """Whether each model may take a coder's place, by the alternative annotator test."""
    first = results.evaluators[:1]
    found = []
    for one in results.anywhere("alternative_annotator_won"):
        if one.value is None or "variant" in one.cell or one.cell.get("evaluator") not in (*first, None):
            continue
        passes = one.details["passes"]
        words = (
            "By the alternative annotator test, {model} {may} take the place of a person: it does as well as "
            "{won} of {coders} people who were left out in turn, at a margin of {epsilon}{beside}."
        )
        mean = next(
            (
                other
                for other in results.anywhere("alternative_annotator")
                if other.cell == one.cell and other.value is not None
            ),
            None,
        )
        beside = ""
        if mean is not None:
            with_model, with_people = mean.details["with_model"], mean.details["with_coder"]
            beside = f"; people agree with each other on {with_people:.2f}, and with it on {with_model:.2f}"
        found.append(
            Markup(words).format(
                model=f"“{one.cell['model']}”" if "model" in one.cell else "the model",
                may="may" if passes else "was not shown to be able to",
                won=f"{one.details['won']:,}",
                coders=f"{one.details['coders']:,}",
                epsilon=f"{one.details['epsilon']:g}",
                beside=beside,
            )
        )
    return found


def _gaps_said(results: Results) -> list[Markup]:
    """How far people and each model agree, over all prompts and with each."""
    every = [one for one in coder_gaps(results) if one.cell.get("coder") == _ALL]
    pooled = [one for one in every if "variant" not in one.cell]
    found = [_said(one, len({other.cell.get("model") for other in pooled}) > 1) for one in pooled]
    each = [one for one in every if "variant" in one.cell]
    if len(each) < 2:
        return found
    further = [one for one in each if one.low is not None and one.low > 0]
    names = list(dict.fromkeys(results.variant_name(one.cell["variant"]) for one in further))
    alone = len({(one.cell.get("model"), one.cell.get("decoding")) for one in each}) == 1
    asked = count(len(each), "prompt") if alone else f"{len(each):,} pairs of model and prompt"
    if not further:
        words = "With none of {} is the model clearly further from people than they are from each other."
        return [*found, Markup(words).format(asked)]
    listed = f": {', '.join(names)}" if alone and len(names) <= _MOST_NAMED else ""
    words = "With {} of {}, the model is clearly further from people than they are from each other{}."
    return [*found, Markup(words).format(f"{len(further):,}", asked, listed)]


def _said(one: Estimate, several: bool) -> Markup:
    """One model against people."""
    model = f"“{one.cell['model']}”" if several and "model" in one.cell else "the model"
    between, beside = number(one.details["coders"]), number(one.details["model"])
    if one.low is None or one.high is None:
        words = "People agree with each other with an alpha of {}, and with {} with one of {}."
        return Markup(words).format(between, model, beside)
    if one.low > 0:
        words = "People agree better with each other than with {model}"
    elif one.high < 0:
        words = "People agree better with {model} than with each other"
    else:
        words = "People agree about as well with {model} as with each other, or the study cannot tell"
    words += ": alpha {between} between people, {beside} with {model}, a difference of {gap} [{ends}]."
    gap = number(one.value or 0.0)
    return Markup(words).format(model=model, between=between, beside=beside, gap=gap, ends=interval(one))
