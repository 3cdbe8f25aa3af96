"""The finding in words: verdicts (`findings.verdicts`) rendered, and what else the study measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from quaver.core.number_format import count, percent
from quaver.core.number_format import points as in_points
from quaver.core.rows import Section
from quaver.report.estimate_index import Results
from quaver.report.findings.key_results import carrying, named, readiness_headline, readiness_sentences
from quaver.report.findings.quality_gate import quality_lines
from quaver.report.findings.verdicts import STEADY as STABLE
from quaver.report.findings.verdicts import Quality, Verdict, beyond_chance, quality, verdicts
from quaver.report.page_words import number, points, value_and_interval

__all__ = ["STABLE", "STOPPED", "Finding", "finding"]

_LISTED = 6
"""As many levels are named one by one."""

_NONE = 0.2
"""Where the upper end of the agreement is below this, the labels do not follow the items at all."""

_MODELS = 3
"""As many models have their evidence reported one by one."""

STOPPED = frozenset({"no answers", "failed", "unreadable"})


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found.

    Attributes:
        headline: One sentence, as HTML.
        results: What carries it, as HTML, by the section of the report that it belongs to.
        quality: The gate.
        verdicts: One for each model.
    """

    headline: Markup
    results: Mapping[Section, tuple[Markup, ...]]
    quality: Quality
    verdicts: tuple[Verdict, ...]

    @property
    def sentences(self) -> tuple[Markup, ...]:
        """What carries it, in one list."""
        return tuple(sentence for some in self.results.values() for sentence in some)

    def __str__(self) -> str:
        return "\n".join(part.striptags() for part in (self.headline, *self.sentences))


def finding(results: Results) -> Finding:
    """What was found."""
    estimates = [*results.audit, *results.estimates]
    places = {model: at for at, model in enumerate(results.models)}
    gate = quality(estimates)
    found = sorted(verdicts(estimates), key=lambda one: places.get(one.model, len(places)))
    headline = _headline(results, found)
    several = len(found) > 1
    said: dict[Section, tuple[Markup, ...]] = {}
    if ready := readiness_headline(results):
        said["readiness"] = (*readiness_sentences(results), headline)
        headline = ready
    said["answers"] = tuple(escape(line) for line in quality_lines(gate))
    said["factors"] = tuple(line for one in found[:_MODELS] for line in _evidence(results, one, several))
    if said["factors"] and not ready:
        said["factors"] = (headline, *said["factors"])
    return Finding(headline, said | carrying(results), gate, tuple(found))


def _headline(results: Results, found: Sequence[Verdict]) -> Markup:
    """One sentence for all models, or a clause for each kind of verdict."""
    clauses: dict[Markup, list[str]] = {}
    for one in found:
        clauses.setdefault(_clause(results, one), []).append(one.model)
    parts = []
    for clause, models in clauses.items():
        if len(clauses) == 1:
            parts.append(clause)
        elif len(found) <= _MODELS:
            names = Markup(" and ").join(Markup("“{}”").format(name) for name in models)
            parts.append(Markup("{}: {}").format(names, clause))
        else:
            parts.append(Markup("{} of {} models: {}").format(len(models), len(found), clause))
    sentence = Markup("; ").join(parts)
    return Markup("{}{}.").format(sentence[:1].upper(), sentence[1:])


def _clause(results: Results, one: Verdict) -> Markup:
    """A verdict as a clause, without its numbers where the sentences below have them."""
    if one.kind in ("failed", "unreadable"):
        what = "failed_calls" if one.kind == "failed" else "unlabelled_answers"
        share = number(one.evidence[what].value or 0.0, percent=True)
        words = "{} of the calls failed, so the labels cannot be judged"
        if one.kind == "unreadable":
            words = "{} of the answers have no label, so the labels cannot be judged"
        return Markup(words).format(share)
    if one.kind == "too few items":
        items = one.evidence["label_in_use"].n
        return Markup("only {} a label: too few to judge").format(
            f"{count(items, 'item')} {'has' if items == 1 else 'have'}"
        )
    if one.kind == "one label":
        used = one.evidence["label_in_use"]
        every = "every label" if used.value == 1 else f"{percent(used.value or 0.0)} of all labels"
        words = Markup("{} {} {}, whatever the text and the prompt")
        return words.format(every, "is" if used.value == 1 else "are", named(results, used.details["label"]))
    if one.kind == "steady and wrong":
        wrong = number(one.evidence["wrong_labels"].value or 0.0, percent=True)
        words = "the labels hardly change with the prompt, but {} differ from the gold labels"
        return Markup(words).format(wrong)
    if one.kind == "follows the item" and one.factor:
        return Markup("the labels depend on the texts, but on the {} too").format(one.factor)
    if one.kind == "flips without a direction" and one.factor:
        return Markup(
            "the labels change from prompt to prompt, and only some of that goes with the {}"
        ).format(one.factor)
    if one.kind == "follows the prompt":
        none = (one.evidence["flips_agreement"].high or 0.0) < _NONE
        words = (
            "the labels depend on the {}, not on the texts"
            if none
            else "the labels depend more on the {} than on the texts"
        )
        return Markup(words).format(one.factor)
    return Markup(_CLAUSES[one.kind])


_CLAUSES = {
    "no answers": "there are no answers yet",
    "one prompt": "only one prompt was tried, so it is not known how far the labels depend on it",
    "steady": "the labels hardly change with the prompt",
    "follows the item": "the labels depend on the texts, but another prompt changes some of them",
    "undecided": "another prompt changes the labels, and may matter more than the text",
    "flips on repetition": "the labels change when the same prompt is asked again",
    "flips without a direction": "the labels change from prompt to prompt, back and forth",
}


def _evidence(results: Results, one: Verdict, several: bool) -> list[Markup]:
    """The sentences that a verdict rests on."""
    if one.kind in STOPPED:
        return []
    sentences = [*_flips(one), *_shifts(results, one), *_wrong(results, one)]
    if several and sentences:
        sentences[0] = Markup("“{}”: {}").format(one.model, sentences[0])
    return sentences


def _flips(one: Verdict) -> list[Markup]:
    """How often labels change: from prompt to prompt, by chance, and from repeat to repeat."""
    prompts, chance, repeats = (
        one.evidence[name] for name in ("flips_prompts", "flips_chance", "flips_repeats")
    )
    sentences = []
    if prompts.value is not None:
        seen = prompts.details.get("prompts", 2)
        words = Markup("{} changes the label in {} of cases")
        other = f"Another of these {seen} prompts" if seen > 2 else "The other prompt"
        sentences.append(words.format(other, value_and_interval(prompts)))
        if chance.value:
            words = Markup("; if labels had nothing to do with the texts, it would change it in {}")
            sentences[0] += words.format(number(chance.value, percent=True))
        sentences[0] += Markup(".")
    if repeats.value is not None:
        words = Markup("Asking again with the same prompt changes it in {}.")
        sentences.append(words.format(value_and_interval(repeats)))
    return sentences


def _shifts(results: Results, one: Verdict) -> list[Markup]:
    """Which way the labels move, if any."""
    clear = [shift for shift in one.shifts if beyond_chance(shift)]
    top = one.shift or max(clear, key=lambda shift: shift.value or 0.0, default=None)
    if top is None:
        known = max(one.shifts, key=lambda shift: shift.value or 0.0, default=None)
        if known is None or not known.value or "floor_high" not in known.details:
            return []
        words = Markup(
            "No part of the prompt moves the share of a label further than chance would: the largest "
            "difference is {} ({}), and chance alone gives up to {}."
        )
        ends = points(known.value), known.cell["factor"], in_points(known.details["floor_high"])
        return [words.format(*ends)]
    shares = dict(sorted(top.details["shares"].items(), key=lambda pair: pair[1]))
    levels = [Markup("{} ({})").format(percent(share), level) for level, share in shares.items()]
    factor, label = top.cell["factor"], named(results, top.cell["label"])
    if len(levels) > _LISTED:
        words = Markup("By {}, the share of {} among the labels runs from {} to {}")
        sentence = words.format(factor, label, levels[0], levels[-1])
    else:
        words = Markup("By {}, the share of {} among the labels is {} and {}")
        sentence = words.format(factor, label, Markup(", ").join(levels[:-1]), levels[-1])
    sentence += Markup("; chance would move it by up to {}.").format(in_points(top.details["floor_high"]))
    others = [shift for shift in clear if shift is not top]
    if others:
        each = (Markup("{} ({})").format(s.cell["factor"], points(s.value or 0.0)) for s in others)
        sentence += Markup(" Also beyond chance: {}.").format(Markup(", ").join(each))
    return [sentence]


def _wrong(results: Results, one: Verdict) -> list[Markup]:
    """How many labels are wrong, and which label the wrong ones are."""
    wrong = one.evidence["wrong_labels"]
    if wrong.value is None:
        return []
    sentence = Markup("{} of the labels differ from the gold labels").format(value_and_interval(wrong))
    if wrong.value:
        share, label = wrong.details["share"], named(results, wrong.details["label"])
        sentence += Markup("; {} of these are {}").format(percent(share), label)
    return [sentence + Markup(".")]
