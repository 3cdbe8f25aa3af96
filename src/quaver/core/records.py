"""The frozen records that the stages exchange, and the columns of the annotation frame.

design makes `Request`s, collect turns them into `Response`s, score into `Reading`s (a row of
the annotation frame each), measure into `Estimate`s. The stages know each other by these alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from html import escape
from typing import Any, Final, Literal, NamedTuple

__all__ = [
    "NO_LABEL",
    "UNFOLLOWED",
    "Call",
    "Condition",
    "Decoding",
    "Estimate",
    "Item",
    "Label",
    "LabelSet",
    "Level",
    "Message",
    "Prompt",
    "Request",
    "Response",
    "Status",
    "Token",
    "Variant",
]

Level = Literal["nominal", "ordinal", "interval", "ratio"]
"""Level of measurement of a label set (Stevens 1946), as Krippendorff's alpha distinguishes it."""

Status = Literal["error", "empty", "refused", "ambiguous", "no_label", "valid"]
"""What became of an answer: the first of these that applies."""

NO_LABEL: Final = "no label"
"""What answers without a label are called where labels are shown or counted; no label may have this name."""


@dataclass(frozen=True, slots=True)
class Label:
    """One category that a model may answer.

    Attributes:
        code: Its short, unique name in data: gold labels and annotations hold this.
        name: How a prompt and a person call it; the code where nothing else is given.
        definition: What falls under it, or an empty string.
        synonyms: Other names under which an evaluator may find it.
        value: Its number on an interval or ratio scale; its place in the set where none is given.
    """

    code: str
    name: str
    definition: str = ""
    synonyms: tuple[str, ...] = ()
    value: float | None = None


@dataclass(frozen=True, slots=True)
class LabelSet:
    """The categories of a task, in order (which counts where ``level`` is not nominal).

    Attributes:
        labels: The categories.
        level: Their level of measurement.
        options: Where each item brings options of its own, among which the labels choose: the columns
            that hold them, one a label, or the one column that holds them all; empty else.
    """

    labels: tuple[Label, ...]
    level: Level = "nominal"
    options: tuple[str, ...] = ()

    @property
    def codes(self) -> tuple[str, ...]:
        """The labels' codes, in order."""
        return tuple(label.code for label in self.labels)


@dataclass(frozen=True, slots=True)
class Item:
    """One text to be labelled.

    Attributes:
        id: Unique among the study's items.
        fields: The columns of its row, by name; templates draw on these.
        gold: The code of its true label, or None where it is not known.
        groups: The groups that it belongs to (author, party), by column.
    """

    id: str
    fields: Mapping[str, Any]
    gold: str | None = None
    groups: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Variant:
    """One way of paraphrase and laying out the question.

    Attributes:
        id: Made of its factors' levels, stable between runs: ``"paraphrase=plain,format=digits"``.
        factors: The level of each factor that made it.
        system: Template of the system message; empty for none.
        layout: Template of the user message, over ``text``, ``instruction`` and ``postfix``.
        text: Template of the item's text, over the item's fields.
        instruction: What is asked, the part that rewordings change.
        postfix: What fixes the answer's format, the part that no rewording touches.
        answers: What the model is to write for each label, by label code, in the order in which the
            labels are shown.
        explains: Whether the prompt asks for an explanation too.
        output: What is asked for: one label, or a score from 0 to 1 for each.
        score_of: Where one score alone is asked for, the code of the label whose probability it is; empty
            where each label has its own.
        max_tokens: How long its answers may be, where that differs from the decoding's.
        definitions: What replaces a label's definition, by label code.
        examples: Labelled items that are shown before the item, with their gold labels' answers.
        reply: Template of what is shown as the answer to an example, over ``answer`` and ``item``.
        frame: ``chat`` sends messages; ``plain`` one text without a chat template, for base models.
        schema: JSON schema that the answer must follow; empty for none.
        label_field: The field of the answer's JSON object that holds the label; empty for none.
        covariates: What else the annotation frame says of it, by column: numbers, marks and texts that
            are no levels, such as its paraphrase's ``distance`` from the original.
        origin: Where each level came from: the family, its parameters, the parent, edits.
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
    output: Literal["label", "score"] = "label"
    score_of: str = ""
    max_tokens: int | None = None
    definitions: Mapping[str, str] = field(default_factory=dict)
    examples: tuple[Item, ...] = ()
    reply: str = "{{ answer }}"
    frame: Literal["chat", "plain"] = "chat"
    schema: str = ""
    label_field: str = ""
    covariates: Mapping[str, str | float | bool] = field(default_factory=dict)
    origin: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Decoding:
    """How the model's next token is chosen, and what is returned of it.

    Attributes:
        name: Its name in the study.
        temperature: 0 is greedy.
        top_p: Nucleus: keep the likeliest tokens up to this mass; 1 keeps all.
        top_k: Keep this many tokens; 0 keeps all.
        min_p: Drop tokens less likely than this share of the likeliest; 0 drops none.
        repeat_penalty: Divide the logits of tokens already seen; 1 does nothing.
        max_tokens: The answer is cut off here.
        seed: From which every call's own seed is derived.
        stop: The answer ends before any of these.
        constraint: ``"labels"`` lets the model write nothing but one of the variant's answers; a JSON
            schema of the variant's takes its place.
        logprobs: How many of the likeliest tokens are returned at each position; 0 returns none.
        grid: The settings that vary in the study's grid of decodings, which annotations have as columns.
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
    """One cell of the design: model × variant × decoding, by their names, asked ``repeats`` times.

    Attributes:
        model: Name of the model.
        variant: Id of the variant.
        decoding: Name of the decoding.
        repeats: How often each item is asked about.
        follow_up: Name of the follow-up that is asked beside the answers of this cell; empty for the
            answers themselves.
        parent: Position of the condition that a follow-up quotes; None where it quotes none.
    """

    model: str
    variant: str
    decoding: str
    repeats: int
    follow_up: str = ""
    parent: int | None = None

    @property
    def asked_as(self) -> str:
        """How it is drawn and what is asked beside, in words.

        >>> Condition("m", "original", "greedy", 1).asked_as
        'greedy'
        >>> Condition("m", "original", "greedy", 1, follow_up="constrained").asked_as
        'greedy, constrained'
        """
        return f"{self.decoding}, {self.follow_up}" if self.follow_up else self.decoding


class Message(NamedTuple):
    """One turn of the conversation that a model sees.

    Where the last turn is the assistant's, the model goes on with it; what it returns is what it adds.
    A ``plain`` message stands alone: a text that is sent without a chat template.
    """

    role: Literal["system", "user", "assistant", "plain"]
    content: str


class Prompt(NamedTuple):
    """A variant filled in with an item.

    Attributes:
        messages: What a model sees.
        text: The item's text in it.
        question: The instruction and postfix in it, for models that put the two together themselves.
    """

    messages: tuple[Message, ...]
    text: str
    question: str


class Call(NamedTuple):
    """One asking: a condition, an item, a repeat.

    Attributes:
        key: 16 bytes: a hash of all that decides the answer (``design.plan`` says of what).
        condition: Position of the condition in the plan.
        item: Position of the item in the plan.
        repeat: From 0.
        parent: The key of the call whose answer this one quotes; None where it quotes none.
    """

    key: bytes
    condition: int
    item: int
    repeat: int
    parent: bytes | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """The calls that share a prompt and a decoding, sent to a model together.

    Attributes:
        model: The model's name in the study.
        prompt: What the model sees.
        decoding: How it is to answer.
        choices: The only answers allowed; empty where the decoding has no constraint.
        seed: The seed of the first call; the next call's is one higher, and so on.
        calls: One for each repeat that is wanted.
        schema: JSON schema that the answers must follow; empty for none.
    """

    model: str
    prompt: Prompt
    decoding: Decoding
    choices: tuple[str, ...]
    seed: int
    calls: tuple[Call, ...]
    schema: str = ""

    def part(self, calls: tuple[Call, ...]) -> Request:
        """The same request for some of its calls, with the seed that the first of them has.

        Args:
            calls: Consecutive repeats among its own.
        """
        return replace(self, calls=calls, seed=self.seed + calls[0].repeat - self.calls[0].repeat)


UNFOLLOWED: Final = ("error", "content_filter")
"""How an answer ended that no follow-up quotes."""


class Token(NamedTuple):
    """One position of an answer: the token, its log-probability, and the likeliest ones there.

    Log-probabilities are natural logarithms of the model's own distribution, before temperature
    and any cut, except where the model's file under ``models`` says otherwise.
    """

    text: str
    logprob: float
    top: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Response:
    """What came back, raw and whole.

    Attributes:
        text: The answer; empty where there is none.
        finish: Why it ended: ``stop``, ``length``, ``content_filter`` or ``error``.
        error: What went wrong, where ``finish`` is ``error`` or ``content_filter``.
        thinking: What a reasoning model returned apart from its answer.
        tokens: The answer's tokens with their log-probabilities, where these were asked for.
        prompt_tokens: Tokens of the prompt. Of answers that a server over HTTP drew together the first has
            them, and the others none: they were read, and are paid, once.
        cached_tokens: How many of these the engine did not need to read again.
        completion_tokens: Tokens that were written: the answer's and, where the model thinks, its thinking's.
        latency: Seconds from sending to the answer, shared evenly by a request's calls.
        raw: Whatever else the model sent and Quaver has no name for. Where a server counts answers that it
            drew together as one, ``completion_tokens_of_request`` and ``answers_of_request`` stand here.
        thinking_tokens: How many of ``completion_tokens`` were thinking.
        served_model: The model that answered, as the server names it.
        fingerprint: The server's name for the very configuration that answered.
    """

    text: str
    finish: Literal["stop", "length", "content_filter", "error"] = "stop"
    error: str | None = None
    thinking: str | None = None
    tokens: tuple[Token, ...] = ()
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    latency: float | None = None
    raw: Mapping[str, Any] | None = None
    thinking_tokens: int | None = None
    served_model: str | None = None
    fingerprint: str | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """One number, and what is needed to judge it.

    Attributes:
        measure: The measure's registered name.
        value: The estimate, or None where it is undefined.
        low: Lower end of the interval, or None where there is none.
        high: Upper end.
        confidence: The interval's nominal level.
        n: How many units (``unit``) it rests on.
        unit: What was resampled, and so what the interval generalises over: ``"item"``, a group's
            column, ``"item and variant"``.
        method: How value and interval were got, in words that a methods section can take over.
        reference: Where the measure is defined: authors, year, section or equation.
        reason: Why ``value`` is None: ``no variation``, ``fewer than two raters``, …
        cell: The part of the data that it is about, by column: ``{"model": …, "format": …}``.
        excluded: What was left out, counted by kind: ``{"no label": 12}``.
        warnings: What a reader must know before using the number.
        details: Further numbers that belong to this one, by name.
        draws: The resampled values behind the interval, where they were asked to be kept
            (``quaver.estimation.intervals.Kept``).
        distribution: Each item's own value, NaN where it has none, where they were asked to be kept.
    """

    measure: str
    value: float | None
    low: float | None = None
    high: float | None = None
    confidence: float = 0.95
    n: int = 0
    unit: str = "item"
    method: str = ""
    reference: str = ""
    reason: str | None = None
    cell: Mapping[str, str] = field(default_factory=dict)
    excluded: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    draws: Any = field(default=None, repr=False, compare=False)
    distribution: Any = field(default=None, repr=False, compare=False)

    def document(self) -> dict[str, Any]:
        """All of it as a mapping for JSON, but for the draws and the distribution."""
        bare = asdict(replace(self, draws=None, distribution=None))
        return {name: value for name, value in bare.items() if name not in ("draws", "distribution")}

    def __str__(self) -> str:
        """The number, its interval, and what it is about, on one line."""
        about = ", ".join(f"{column} {level}" for column, level in self.cell.items())
        name = f"{self.measure} ({about})" if about else self.measure
        if self.value is None:
            return f"{name}: undefined, {self.reason}"
        ends = [round(end, 3) + 0.0 for end in (self.low, self.high) if end is not None]  # no "-0.000"
        interval = f" [{ends[0]:.3f}, {ends[1]:.3f}]" if len(ends) == 2 else ""
        return (
            f"{name}: {round(self.value, 3) + 0.0:.3f}{interval}, {self.n} {self.unit}{'s' * (self.n != 1)}"
        )

    def _repr_html_(self) -> str:
        """The same line, where a notebook shows it."""
        return f"<p>{escape(str(self))}</p>"
