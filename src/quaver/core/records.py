"""The frozen records that the stages exchange.

Design makes requests, collect turns them into responses (both in `quaver.core.calls`), score into `Reading`s
(a row of the annotation frame each), measure into `Estimate`s. The stages share nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from html import escape
from typing import Any, Final, Literal

from quaver.core.media import Medium

Level = Literal["nominal", "ordinal", "interval", "ratio", "jaccard", "masi", "tree"]
"""Level of measurement of a label set (Stevens 1946), as Krippendorff's alpha distinguishes them; of labels
that are sets (``food; service``), the distance of two sets; of labels with parents, that on the tree."""

UNORDERED: Final[frozenset[Level]] = frozenset(["nominal", "jaccard", "masi", "tree"])
"""The levels at which labels have no order."""

OF_SETS: Final[frozenset[Level]] = frozenset(["jaccard", "masi"])
"""The levels at which labels are sets."""

BY_PAIRS: Final[frozenset[Level]] = OF_SETS | {"tree"}
"""The levels at which each two labels have a distance of their own, which no numbers make."""

Output = Literal["number", "labels", "label", "score", "spans"]
"""What a prompt asks for."""

Status = Literal["error", "empty", "refused", "ambiguous", "no_label", "valid"]
"""The status of an answer: the first of these that applies."""

Estimand = Literal["fixed", "population"]
"""What an interval holds for: these prompts, or the mean over prompts like these."""

AND_PROMPT: Final = " and prompt"
"""The end of the unit of an interval that generalises over prompts too."""

JOINED: Final = "whole text"
"""The name of the call in which the model joins the labels of a text's parts, as of a follow-up."""

SPLIT: Final = "split"
"""The factor whose levels are splits of long texts into parts."""

NO_LABEL: Final = "no label"
"""The name of answers without a label where labels are shown or counted; no label may have it."""


@dataclass(frozen=True, slots=True)
class Label:
    """One category that a model may answer.

    Attributes:
        code: Its short, unique name in data: gold labels and annotations hold this.
        name: Its name in the prompt and for people; the code if none is given.
        definition: What falls under it, or an empty string.
        synonyms: Other names by which an evaluator may find it.
        value: Its number on an interval or ratio scale; its place in the set if none is given.
        parent: The code of the broader label, or the name of the heading, under which it falls.
    """

    code: str
    name: str
    definition: str = ""
    synonyms: tuple[str, ...] = ()
    value: float | None = None
    parent: str = ""


@dataclass(frozen=True, slots=True)
class LabelSet:
    """The categories of a task, in order (which matters unless ``level`` is nominal).

    Attributes:
        labels: The categories.
        level: Their level of measurement.
        options: For items with their own options, among which the labels choose: the columns that hold
            them, one for each label, or one that holds them all; otherwise empty.
        are_numbers: Whether values are numbers: the labels are then those that occur, of all that may, each
            with its value; before there are answers there are none.
    """

    labels: tuple[Label, ...]
    level: Level = "nominal"
    options: tuple[str, ...] = ()
    are_numbers: bool = False

    @property
    def codes(self) -> tuple[str, ...]:
        """The labels' codes, in order."""
        return tuple(label.code for label in self.labels)


@dataclass(frozen=True, slots=True)
class Item:
    """One text to be labelled, or what is shown beside or instead of it.

    Attributes:
        id: Unique among the study's items.
        fields: The columns of its row, by name, for templates.
        gold: The code of its gold label, or None if unknown.
        groups: The groups to which it belongs (author, party), by column.
        golds: Its gold labels by field, where the task has fields; one that is unknown is left out.
        beside: Whether it was added to a random sample for its gold label: figures about all items leave it
            out.
        media: Its pictures, pages and recordings, which the model sees before the text.
        parts: Where the parts begin and end in which a long text is asked about, then the numbers of the
            splits that make this part, where there are several; empty if it is asked whole.
    """

    id: str
    fields: Mapping[str, Any]
    gold: str | None = None
    groups: Mapping[str, str] = field(default_factory=dict)
    golds: Mapping[str, str] = field(default_factory=dict)
    beside: bool = False
    media: tuple[Medium, ...] = ()
    parts: tuple[tuple[int, ...], ...] = ()

    @property
    def known_gold(self) -> Mapping[str, str]:
        """Its gold labels that are known, by field; of a task without fields by no name."""
        return self.golds if self.gold is None else {"": self.gold}


@dataclass(frozen=True, slots=True)
class Variant:
    """A prompt variant: one version of the prompt, with its factor levels.

    Attributes:
        id: Made of its factors' levels, stable between runs: ``"paraphrase=plain,format=digits"``.
        factors: The level of each factor.
        system: Template of the system message; empty for none.
        layout: Template of the user message, over ``text``, ``instruction`` and ``postfix``.
        text: Template of the item's text, over the item's fields.
        instruction: The question, which paraphrases reword.
        postfix: The format of the answer, which no paraphrase touches.
        answers: What the model should write for each label, by label code, in the order in which the
            prompt shows the labels.
        below: The same for the labels that further calls offer, where the levels of a tree are asked one by
            one; where a further call joins the labels of a text's parts, what stands above these.
        explains: Whether the prompt also asks for an explanation.
        output: What the prompt asks for: one label, or a score from 0 to 1 for each; of a field of which
            several labels may apply, all that do; of one whose values are numbers, a number.
        score_of: The code of the label whose probability the prompt asks for, if it asks for one score
            only; otherwise empty.
        max_tokens: The limit on its answers, if it differs from the decoding's.
        examples: Labelled items shown before the item, each answered with its gold label.
        reply: Template of the answer to an example, over ``answer`` and ``item``.
        frame: ``chat`` sends messages; ``plain`` sends one text without a chat template, for base models.
        schema: JSON schema that the answer must follow; empty for none.
        label_field: The field of the answer's JSON object that holds the label; empty for none.
        pictures: What is done to the item's pictures, in order: ``size 50%``, ``crop 80%``, ``JPEG 30``.
        covariates: Further columns of the annotation frame: numbers, flags and texts that are not levels,
            such as whether its instruction lost something.
        origin: The origin of each level: the family, its parameters, the parent.
    """

    id: str
    factors: Mapping[str, str]
    system: str
    layout: str
    text: str
    instruction: str
    postfix: str
    answers: Mapping[str, str]
    explains: bool = False
    output: Output = "label"
    score_of: str = ""
    max_tokens: int | None = None
    examples: tuple[Item, ...] = ()
    reply: str = "{{ answer }}"
    frame: Literal["chat", "plain"] = "chat"
    schema: str = ""
    label_field: str = ""
    pictures: tuple[str, ...] = ()
    covariates: Mapping[str, str | float | bool] = field(default_factory=dict)
    origin: Mapping[str, Any] = field(default_factory=dict)
    below: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_joined(self) -> bool:
        """Whether a further call joins the labels of a text's parts; of levels there are two or more."""
        return [*self.below] == [JOINED]


@dataclass(frozen=True, slots=True)
class Decoding:
    """How the model's next token is chosen, and what it returns.

    Attributes:
        name: Its name in the study.
        temperature: 0 is greedy.
        top_p: Nucleus: keep the most likely tokens up to this mass; 1 keeps all.
        top_k: Keep this many tokens; 0 keeps all.
        min_p: Drop tokens less likely than this share of the most likely one; 0 drops none.
        repeat_penalty: Divide the logits of tokens that have occurred; 1 does nothing.
        max_tokens: The answer is cut off here.
        seed: Every call's seed derives from it.
        stop: The answer ends before any of these.
        constraint: ``"labels"`` lets the model write one of the variant's answers and nothing else; a JSON
            schema of the variant takes its place.
        logprobs: How many of the most likely tokens to return at each position; 0 returns none.
        grid: The parameters that vary in the study's grid of decodings; annotations have them as columns.
    """

    name: str
    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    repeat_penalty: float = 1.0
    max_tokens: int = 8
    seed: int = 0
    stop: tuple[str, ...] = ()
    constraint: Literal["none", "labels"] = "none"
    logprobs: int = 0
    grid: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Condition:
    """One cell of the design: model × variant × decoding, by name, asked ``repeats`` times.

    Attributes:
        model: Name of the model.
        variant: Id of the variant.
        decoding: Name of the decoding.
        repeats: How often each item is asked about.
        follow_up: Name of the follow-up; empty for the answers themselves.
        parent: Position of the condition that a follow-up quotes; None if it quotes none.
    """

    model: str
    variant: str
    decoding: str
    repeats: int
    follow_up: str = ""
    parent: int | None = None

    @property
    def asked_as(self) -> str:
        """Its decoding and its follow-up, if it has one.

        >>> Condition("m", "original", "greedy", 1).asked_as
        'greedy'
        >>> Condition("m", "original", "greedy", 1, follow_up="constrained").asked_as
        'greedy, constrained'
        """
        return f"{self.decoding}, {self.follow_up}" if self.follow_up else self.decoding


class IntervalWarning(str):
    """A warning that an interval may hold the truth less often than its level says, and why.

    It is a text like the other warnings of an `Estimate`, which say how to read its value.
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """An evaluator's reading of a response.

    Attributes:
        label: The label's code; None unless ``status`` is ``valid``, and of tied scores.
        status: What became of the answer.
        reason: Why there is no label (or why this one, if a rule of last resort found it).
        truncated, looping: The answer was cut off at ``max_tokens``; it repeats itself until it ends.
        probabilities: Probability of each label by code, if the evaluator has them; they sum to 1.
        confidence: How sure the model was of ``label``, from 0 to 1.
        label_coverage: Share of the labels among the model's most likely tokens, if an evaluator read them.
        mass_coverage: Total probability of those tokens; times ``confidence``, the label's raw probability.
        quote: The words that the answer quotes for ``label``, where it was asked for them.
    """

    label: str | None
    status: Status
    reason: str | None = None
    truncated: bool = False
    looping: bool = False
    probabilities: Mapping[str, float] | None = None
    confidence: float | None = None
    label_coverage: float | None = None
    mass_coverage: float | None = None
    quote: str | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """One number, with all that is needed to judge it.

    Attributes:
        measure: The measure's registered name.
        value: The estimate, or None if it is undefined.
        low: Lower end of the interval, or None if there is none.
        high: Upper end.
        confidence_level: The interval's nominal level.
        n: The number of units (``unit``) that it rests on.
        unit: What the interval generalises over: ``"item"``, a group's column, ``"item and prompt"``.
        estimand: What the interval holds for; how many prompts there are is ``details["prompts"]``.
        method: How value and interval were computed, worded for a methods section.
        reference: Where the measure is defined: authors, year, section or equation.
        reason: Why ``value`` is None: ``no variation``, ``fewer than two raters``, …
        cell: The part of the data to which it applies, by column: ``{"model": …, "format": …}``.
        excluded: What was left out, counted by kind: ``{"no label": 12}``.
        warnings: What a reader must know first; an `IntervalWarning` where it is about the interval.
        details: Further numbers that belong to it, by name.
        draws: The values with each unit left out, where they were asked to be kept.
    """

    measure: str
    value: float | None
    low: float | None = None
    high: float | None = None
    confidence_level: float = 0.95
    n: int = 0
    unit: str = "item"
    estimand: Estimand = "fixed"
    method: str = ""
    reference: str = ""
    reason: str | None = None
    cell: Mapping[str, str] = field(default_factory=dict)
    excluded: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    draws: Any = field(default=None, repr=False, compare=False)

    @property
    def scope(self) -> str:
        """What the interval holds for, in words; empty where no prompts were counted.

        >>> Estimate("accuracy", 0.8, details={"prompts": 5}).scope
        'for these 5 prompts'
        """
        seen = self.details.get("prompts")
        if seen is None:
            return ""
        if self.estimand == "population":
            return f"for prompts like these {seen}"
        return "for this prompt" if seen == 1 else f"for these {seen} prompts"

    @property
    def number(self) -> float:
        """The value; 0 where there is none, for what orders or draws estimates."""
        return self.value or 0.0

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends of the interval; None without one."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def place(self) -> frozenset[tuple[str, str]]:
        """Its cell as a key, the same for estimates of other measures in the same cell."""
        return frozenset(self.cell.items())

    @property
    def resampled(self) -> str:
        """The unit, with what the interval holds for where that is more than these prompts."""
        return self.unit if self.estimand == "fixed" else f"{self.unit}, {self.scope}".removesuffix(", ")

    def document(self) -> dict[str, Any]:
        """The estimate as a mapping for JSON, without the draws."""
        written = asdict(replace(self, draws=None))
        del written["draws"]
        return written

    def __str__(self) -> str:
        """The measure, its cell, the number and its interval, on one line."""
        about = ", ".join(f"{column} {level}" for column, level in self.cell.items())
        name = f"{self.measure} ({about})" if about else self.measure
        if self.value is None:
            return f"{name}: undefined, {self.reason}"
        ends = [round(end, 3) + 0.0 for end in (self.low, self.high) if end is not None]  # no "-0.000"
        interval = f" [{ends[0]:.3f}, {ends[1]:.3f}]" if len(ends) == 2 else ""
        unit = self.unit.removesuffix(AND_PROMPT)
        unit = unit if self.n == 1 else f"{unit[:-1]}ies" if unit == "study" else f"{unit}s"
        scope = f", {self.scope}" if self.estimand != "fixed" else ""
        return f"{name}: {round(self.value, 3) + 0.0:.3f}{interval}, {self.n} {unit}{scope}"

    def __repr__(self) -> str:
        return f"<Estimate {self}>"

    def _repr_html_(self) -> str:
        """The line in which it prints, for a notebook."""
        return f"<p>{escape(str(self))}</p>"
