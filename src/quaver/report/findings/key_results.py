"""The sentences of the report's sections: what a study measured, in plain words with its numbers.

What is said is decided here; the words stand in ``templates/sentences.html``, and those about the answers'
quality, which commands print too, in ``templates/quality.txt``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup, escape

from quaver.core.number_format import count, percent, rounded
from quaver.core.records import Estimate
from quaver.core.rows import Section, defined, ranked
from quaver.report.estimate_index import NO_LABEL, Results, varying
from quaver.report.findings.judged_model import STEADY, JudgedModel, judged_models
from quaver.report.findings.quality import Quality, quality
from quaver.report.page_templates import marked_phrases, phrases
from quaver.report.page_words import (
    between,
    in_words,
    number,
    percent_measure,
    points,
    printed,
    value_and_interval,
)
from quaver.report.table_rows import corrected_conclusions, in_true_labels

FEW = 3
"""As many estimates are reported one by one, each with its interval; and as many models."""

_ONE_PROMPT = "for this prompt"

_LEVELS_LISTED = 6
"""As many levels are named one by one."""

_RANGE = 0.1
"""Where the share without a label differs by this much between a factor's levels, these are named."""

_ALL = "all"
_MOST_NAMED = 5


def section_sentences(results: Results) -> dict[Section, list[Markup]]:
    """A sentence or more for each thing that the study measured, by the section that it belongs to."""
    estimates, said = [*results.audit, *results.estimates], _Said(results)
    return {
        "readiness": list(said.readiness()),
        "answers": [escape(line) for line in quality_lines(quality(estimates))],
        "factors": list(said.movement(judged_models(estimates))),
        "stability": list(said.stability()),
        "sensitivity": list(said.sensitivity()),
        "accuracy": [*said.accuracy(), *said.differences(), *said.effects()],
        "coders": coder_sentences(results),
        "conclusions": list(said.conclusions()),
    }


def quality_lines(quality: Quality) -> list[str]:
    """A sentence for each thing that is wrong with a model's answers, and for items that come in groups.

    >>> from quaver.core.records import Estimate
    >>> from quaver.report.findings.quality import quality
    >>> counts = {"times": 30, "calls": 100}
    >>> quality_lines(quality([Estimate("failed_calls", 0.3, 0.2, 0.4, cell={"model": "m"}, details=counts)]))
    ['30% [20% to 40%] of the calls ended in an error (30 of 100).']
    """
    say = phrases("quality.txt", RANGE=_RANGE, percent=percent, rounded=rounded)
    several = len(quality.models) > 1
    lines = [
        say(issue.kind, issue.estimate, f" of “{issue.model}”" if several else "") for issue in quality.issues
    ]
    return lines + [say("clusters", clusters) for clusters in quality.clusters]


def coder_sentences(results: Results) -> list[Markup]:
    """How well people agree with each other and with each model, and with which prompts clearly less."""
    said = _Said(results)
    return [*said.gaps(), *said.replacements()]


class _Said:
    """What a study measured, section by section."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self._say: Callable[..., Markup] = marked_phrases(
            "sentences.html",
            label=self._label,
            span=_span,
            difference_of=_points_of,
            STEADY=STEADY,
            MOST_LEVELS=_LEVELS_LISTED,
            FEW=FEW,
        )

    def movement(self, models: Sequence[JudgedModel]) -> Iterator[Markup]:
        """How often labels change, which way they move, and how many are wrong, model by model."""
        readable = [judged for judged in models if judged.has_labels]
        for judged in sorted(readable, key=lambda judged: self.results.models.index(judged.model))[:FEW]:
            sentences = list(self._moved(judged))
            if len(models) > 1 and sentences:
                sentences[0] = Markup("“{}”: {}").format(judged.model, sentences[0])
            yield from sentences

    def _moved(self, judged: JudgedModel) -> Iterator[Markup]:
        prompts, repeats, wrong = (
            judged.evidence[name] for name in ("flips_prompts", "flips_repeats", "wrong_labels")
        )
        if prompts.value is not None:
            yield self._say("other_prompt", prompts, judged.evidence["flips_chance"])
        if repeats.value is not None:
            yield self._say("same_prompt", repeats)
        largest = max(judged.shifts, key=lambda shift: shift.number, default=None)
        if judged.top is not None:
            yield self._say("shift", judged.top, [other for other in judged.clear if other is not judged.top])
        elif largest is not None and largest.value and "floor_high" in largest.details:
            yield self._say("no_shift", largest)
        if wrong.value is not None:
            yield self._say("wrong", wrong)

    def readiness(self) -> Iterator[Markup]:
        """Whether each profiled model is ready, how many criteria its profile meets, and which it misses."""
        estimates = [
            estimate
            for estimate in self.results.in_order(self.results.of("readiness"))
            if "verdict" in estimate.details
        ]
        columns = varying(estimates)
        profiles, clauses = [], dict[str, list[str]]()
        for estimate in estimates:
            name = " · ".join(estimate.cell[column] for column in columns if column in estimate.cell)
            profiles.append((f"“{name}”" if name else "the model", estimate, self._missed(estimate)))
        for verdict in ("ready", "not ready", "undecided"):
            own = [name for name, estimate, _ in profiles if estimate.details["verdict"] == verdict]
            clauses |= {verdict: own} if own else {}
        if profiles:
            yield self._say("ready", clauses, len(profiles))
            yield self._say("criteria", profiles[: 2 * FEW])

    def _missed(self, profile: Estimate) -> list[str]:
        """The criteria that a profile does not meet."""
        prefix = "readiness_"
        return [
            in_words(estimate.measure.removeprefix(prefix))
            for estimate in self.results.estimates
            if estimate.measure.startswith(prefix)
            and estimate.cell == profile.cell
            and estimate.details.get("verdict") == "not met"
        ]

    def stability(self) -> Iterator[Markup]:
        """How far labels agree when asked again, and from prompt to prompt."""
        again, other, alike = map(self.results.coarsest, ("intra_pss", "inter_pss", "strict_stability"))
        if again or other:
            yield self._say("stability", again, other)
        if alike:
            yield self._say("always_alike", alike)

    def sensitivity(self) -> Iterator[Markup]:
        """How readily labels change, and how alike those of a class are."""
        of, alike = self.results.coarsest("sensitivity"), self.results.coarsest("consistency")
        if of or alike:
            yield self._say("sensitivity", of, alike)

    def accuracy(self) -> Iterator[Markup]:
        """How often labels are correct, with other prompts, and beside what guessing gives."""
        estimates = self.results.known("accuracy")
        estimates = [estimate for estimate in estimates if estimate.estimand == "fixed"] or estimates
        if not estimates:
            return
        details = estimates[0].details
        others = self._of_other_prompts()
        baselines = {"majority_label": str(details.get("majority_label", "the most frequent label"))}
        shares = {name: details.get(name) for name in ("majority", "chance")}
        compared = all(isinstance(share, float) for share in shares.values())
        yield self._say("accuracy", estimates, others, {**baselines, **shares} if compared else {})

    def _of_other_prompts(self) -> list[Estimate]:
        """Accuracy over all prompts, with intervals that hold for others than these."""
        results, first = self.results, next(iter(self.results.evaluators), None)
        for estimates in (results.of("accuracy"), results.audit):
            some = [
                estimate
                for estimate in estimates
                if (estimate.measure, estimate.estimand) == ("accuracy", "population")
            ]
            if some:
                known = [estimate for estimate in some if estimate.low is not None]
                return results.in_order(
                    estimate for estimate in known if estimate.cell.get("evaluator", first) == first
                )
        return []

    def differences(self) -> Iterator[Markup]:
        """The largest difference of paired accuracies whose interval does not reach zero."""
        estimates = self.results.main("differences")
        known = [estimate for estimate in estimates if clear(estimate)]
        if not known:
            return
        top = max(known, key=lambda estimate: (abs(estimate.number), estimate.number))
        against = str(top.details.get("against", "the others"))
        if len(estimates) == 2 and against.startswith("the mean"):
            (against,) = (self._of(estimate) for estimate in estimates if estimate is not top)
        elif not against.startswith("the "):
            against = f"“{against}”"
        yield self._say("difference", top, self._of(top), against)

    def _of(self, estimate: Estimate) -> str:
        levels = [value for column, value in estimate.cell.items() if column not in ("evaluator", "model")]
        if not levels:
            return f"“{estimate.cell.get('model', '')}”"
        several = len(self.results.models) > 1 and "model" in estimate.cell
        return f"“{' · '.join(levels)}”" + (f" (model {estimate.cell['model']})" if several else "")

    def effects(self) -> list[Markup]:
        """The largest effect of a factor's level on accuracy, model by model; else on compliance."""
        for kind, what in (("accuracy", "accuracy"), ("compliance", "the share of answers with a label")):
            effects = self.results.main(f"factor_effects_{kind}_difference")
            models = list(dict.fromkeys(estimate.cell.get("model", "") for estimate in effects))[:FEW]
            sentences = []
            for model in models:
                found = largest_effects(
                    [estimate for estimate in effects if estimate.cell.get("model", "") == model]
                )
                of = f" of “{model}”" if len(models) > 1 else ""
                sentences += [] if found is None else [self._say("largest_effect", found, f"{what}{of}")]
            if sentences:
                return sentences
        return []

    def gaps(self) -> Iterator[Markup]:
        """How far people and each model agree, over all prompts and with each."""
        estimates = [estimate for estimate in coder_gaps(self.results) if estimate.cell.get("coder") == _ALL]
        pooled = [estimate for estimate in estimates if "variant" not in estimate.cell]
        several = len({estimate.cell.get("model") for estimate in pooled}) > 1
        for estimate in pooled:
            named = several and "model" in estimate.cell
            yield self._say("gap", estimate, f"“{estimate.cell['model']}”" if named else "the model")
        each = [estimate for estimate in estimates if "variant" in estimate.cell]
        if len(each) < 2:
            return
        further = [estimate for estimate in each if estimate.low is not None and estimate.low > 0]
        names = list(
            dict.fromkeys(self.results.variant_name(estimate.cell["variant"]) for estimate in further)
        )
        alone = len({(estimate.cell.get("model"), estimate.cell.get("decoding")) for estimate in each}) == 1
        asked = count(len(each), "prompt") if alone else f"{len(each):,} pairs of model and prompt"
        listed = alone and len(names) <= _MOST_NAMED
        yield self._say("further", len(further), asked, names if listed else [])

    def replacements(self) -> Iterator[Markup]:
        """Whether each model may take a coder's place, by the alternative annotator test."""
        means = self.results.anywhere("alternative_annotator")
        for estimate in self.results.anywhere("alternative_annotator_won"):
            of_first = estimate.cell.get("evaluator") in (*self.results.evaluators[:1], None)
            if estimate.value is not None and "variant" not in estimate.cell and of_first:
                same = (mean for mean in means if mean.cell == estimate.cell and mean.value is not None)
                yield self._say("replacement", estimate, next(same, None))

    def conclusions(self) -> Iterator[Markup]:
        """Under how many specifications each of a few conclusions holds, in these labels."""
        estimates = self.results.estimates
        held, true = (
            [one for one in estimates if one.measure == "conclusion_holds"],
            corrected_conclusions(estimates),
        )
        for name, estimate in list(true.items())[:FEW]:
            yield self._say("in_true_labels", name, in_true_labels(estimate))
        for estimate in held[:FEW]:
            yield self._say("conclusion", estimate, len(held) == 1 and bool(true))

    def _label(self, code: str) -> str:
        """A label in quotation marks, or that there is none."""
        return code if code == NO_LABEL else f"“{self.results.label_name(code)}”"


def _span(estimates: Sequence[Estimate]) -> Markup:
    """One estimate or a few with their intervals, or the smallest and largest of many.

    Where intervals are shown, it says what they hold for; of estimates that are of one prompt each, their
    names do.
    """
    spanned = _bare_span(estimates)
    scopes = {estimate.scope for estimate in estimates if estimate.low is not None}
    several = len(estimates) > 1
    if "[" not in spanned.striptags() or len(scopes) != 1 or (several and scopes == {_ONE_PROMPT}):
        return spanned
    scope = scopes.pop()
    return Markup("{}, {}").format(spanned, scope) if scope else spanned


def _bare_span(estimates: Sequence[Estimate]) -> Markup:
    columns = varying(estimates)
    if 1 < len(estimates) <= FEW and len(columns) == 1:
        named = Markup("{} ({})").format
        *most, last = (
            named(value_and_interval(estimate), estimate.cell.get(columns[0], "")) for estimate in estimates
        )
        return Markup("{} and {}").format(Markup(", ").join(most), last)
    known = ranked(estimates)
    if len(known) == 1:
        return value_and_interval(known[0])
    percent = percent_measure(known[0].measure)
    low, high = known[0].number, known[-1].number
    if printed(low, percent) == printed(high, percent):
        return Markup("{} in each of {} conditions").format(number(low, percent), len(known))
    return Markup("{} over {} conditions").format(between(low, high, percent), len(known))


def _points_of(estimate: Estimate, plain: bool = False) -> Markup:
    """A difference of shares with its interval, in points; without its sign where the words have it."""
    ends = [estimate.number, estimate.low or 0.0, estimate.high or 0.0]
    if plain:
        ends = [abs(end) for end in (ends if ends[0] > 0 else (ends[0], ends[2], ends[1]))]
    value, *bounds = (points(end) for end in ends)
    return Markup("{} [{} to {}]").format(value, *(bound.removesuffix(" points") for bound in bounds))


def clear(estimate: Estimate) -> bool:
    """Whether the whole interval is on one side of 0; one that touches it is not.

    >>> clear(Estimate("d", -0.06, -0.17, 0.0)), clear(Estimate("d", -0.23, -0.33, -0.1))
    (False, True)
    """
    return estimate.low is not None and estimate.high is not None and (estimate.low > 0 or estimate.high < 0)


class Largest(NamedTuple):
    """Of several effects the one with the largest estimate, and what may be said of it.

    Attributes:
        top: It.
        clear: Whether its interval lies on one side of 0.
        next: The next largest, of another hypothesis; None where there is one only.
        separated: Whether the two intervals are apart, in size.
        others: Those that are clear of 0 where the largest is not, the largest first.
    """

    top: Estimate
    clear: bool
    next: Estimate | None
    separated: bool
    others: tuple[Estimate, ...]


def largest_effects(effects: Sequence[Estimate]) -> Largest | None:
    """The largest of some effects; None where there is none."""
    known: dict[object, Estimate] = {}
    for estimate in effects:
        if estimate.value:
            known.setdefault(
                estimate.details.get("hypothesis", (estimate.cell.get("factor"), estimate.cell.get("level"))),
                estimate,
            )
    ranked = sorted(known.values(), key=lambda estimate: -abs(estimate.number))
    if not ranked:
        return None
    top, *rest = ranked
    second = rest[0] if rest else None
    apart = second is not None and clear(top) and _size(top)[0] > _size(second)[1]
    others = () if clear(top) else tuple(estimate for estimate in rest if clear(estimate))
    return Largest(top, clear(top), second, apart, others)


def _size(estimate: Estimate) -> tuple[float, float]:
    """The ends of the interval of an effect's size, whichever way it goes."""
    ends = sorted(abs(end) for end in (estimate.low, estimate.high) if end is not None)
    if len(ends) < 2:
        return 0.0, float("inf")
    return (ends[0] if clear(estimate) else 0.0), ends[1]


def coder_gaps(results: Results) -> list[Estimate]:
    """The gaps between people and each model, over all prompts and of each, by the first evaluator."""
    first = results.evaluators[:1]
    estimates = [
        estimate
        for estimate in defined(results.anywhere("coder_agreement_gap"))
        if estimate.cell.get("evaluator") in (*first, None)
    ]
    return results.in_order(estimates)
