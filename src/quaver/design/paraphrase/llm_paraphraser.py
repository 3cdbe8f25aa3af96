"""Paraphrases drawn from models at temperatures: what all such engines do, and ``llm``, which asks one."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field

from quaver.core.calls import Message, Prompt, Response
from quaver.core.records import Decoding
from quaver.core.seeds import derive
from quaver.design.paraphrase.meaning import escaped
from quaver.design.paraphrase.paraphraser import (
    TEMPERATURE,
    Count,
    Draft,
    Paraphrase,
    PromptContext,
    ToAsk,
    Work,
)
from quaver.design.prompt_words import ENGLISH, words_in
from quaver.design.prompts.templates import check, names_in, render
from quaver.design.spec.yaml_file import distinct
from quaver.errors import ModelError, SpecError

CUT_OFF: Final = "cut_off"
"""The covariate of a paraphrase whose end is missing, where such paraphrases are kept."""

Temperature = Annotated[float, Field(ge=0, le=5)]


Drawn = tuple[str, bool, Mapping[str, Any]]
"""What a model wrote: a text, whether it ended within the limit, and how it was made."""


@dataclass(frozen=True, kw_only=True)
class Sampled(ABC):
    """Draws from a model until it has given ``k`` paraphrases at each temperature.

    Args:
        temperatures: The temperatures.
        k: The number of paraphrases at each.
        tries: The most answers to draw for each paraphrase.
        cut_off: What becomes of an answer that does not end within the limit: ``drop`` it and draw another,
            or ``keep`` it as it is, with ``cut_off`` in its annotations.
    """

    exact = False
    kept = True
    temperatures: Annotated[list[Temperature], Field(min_length=1), distinct("temperature")] | None = None
    k: Count = 10
    tries: Count = 10
    cut_off: Literal["drop", "keep"] = "drop"
    _usual: ClassVar[Sequence[float]] = (0.7,)
    _seeded: ClassVar[str]
    """The name by which its draws are seeded."""

    def __post_init__(self) -> None:
        if 0 in self._heats and self.k > 1:
            raise SpecError(
                "temperature 0 gives only one paraphrase",
                where="temperatures",
                expected="a temperature above 0, or k: 1",
                found=f"k: {self.k} at temperature 0",
            )

    @property
    def _heats(self) -> Sequence[float]:
        return self.temperatures or self._usual

    @abstractmethod
    def asked(self) -> Mapping[str, Any]:
        """What decides the paraphrases."""
        return {"cut_off": "keep"} if self.cut_off == "keep" else {}

    @property
    @abstractmethod
    def _name(self) -> str:
        """What the model is called."""

    def _source(self, context: PromptContext) -> Any:
        """What is loaded once for all draws, if anything is."""
        return None

    @abstractmethod
    def _drawn(
        self, source: Any, context: PromptContext, temperature: float, count: int, seed: int, work: Work
    ) -> Iterable[Drawn]:
        """Draw at most ``count`` texts."""

    def foreseen(self, original: str) -> Sequence[Paraphrase]:
        """Stand-ins for ``k`` paraphrases at each temperature; no two of them begin alike."""
        stand_ins = []
        for heat, number in product(self._heats, range(1, self.k + 1)):
            text = f"{heat:g} {number} {original}"
            stand_ins.append(Paraphrase(f"t{heat:g}-{number}", text, f"{heat:g}", {TEMPERATURE: heat}))
        return stand_ins

    def to_ask(self, draft: Draft) -> ToAsk | None:
        """The calls that the draft still takes; none of an engine that has a model of its own."""
        return None

    def reword(self, context: PromptContext, draft: Draft, work: Work) -> Sequence[Paraphrase]:
        """``k`` paraphrases at each temperature, named ``t0.5-1``, ``t0.5-2`` and so on.

        Raises:
            SpecError: The model cannot read the instruction.
            ModelError: The model gave fewer.
        """
        source = self._source(context)
        chosen: list[Paraphrase] = []
        for temperature in self._heats:
            self._fill(source, context, temperature, draft, work)
            chosen += draft.of(f"{temperature:g}")[: self.k]
        return chosen

    def _fill(
        self, source: Any, context: PromptContext, temperature: float, draft: Draft, work: Work
    ) -> None:
        """Draw until the draft has ``k`` paraphrases of a temperature."""
        group, left = f"{temperature:g}", self.tries * self.k
        while (missing := self.k - len(draft.of(group))) > 0:
            if left <= 0:
                raise self._too_few(draft, group)
            if left == self.tries * self.k:
                work.begin(f"{missing} paraphrases at temperature {group} from {self._name}")
            count, before = min(missing, left), draft.asked.get(group, 0)
            seed = (derive(context.seed, self._seeded, group) + before) % 2**31
            answers = self._drawn(source, context, temperature, count, seed, work)
            draft.asked[group] = before + count
            left -= count
            for text, ended, origin in answers:
                if not ended and self.cut_off == "drop":
                    draft.drop(group, "cut off")
                    continue
                covariates = {TEMPERATURE: temperature} | ({} if ended else {CUT_OFF: True})
                made = escaped(text, draft.original)
                draft.offer(made, f"t{group}-", group, covariates, {"temperature": temperature, **origin})

    def _too_few(self, draft: Draft, group: str) -> ModelError:
        """The error of a model that gave too few paraphrases."""
        reasons = sorted(draft.dropped.get(group, {}).items())
        dropped = ", ".join(f"{count} {why}" for why, count in reasons)
        return ModelError(
            f"the model gave {len(draft.of(group))} of {self.k} paraphrases at temperature {group}",
            expected=f"{self.k} that differ from the original and from each other",
            found=f"{draft.asked.get(group, 0)} answers" + (f", of which {dropped}" if dropped else ""),
            fix="lower k, raise tries, choose other temperatures or another model; what it gave is kept",
        )


_THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_MARK = re.compile(r"^\s*(?:[-*•–—]|\(?\d{1,2}[.):]|\(?[a-zA-Z][.)])\s+")
_LEAD = re.compile(
    r"^\s*(?:\**(?:new|rewritten|reworded|rephrased|revised|alternative|paraphrased?)\b[^:\n]{0,40}:\**|"
    r"(?:sure|certainly|of course|here(?:'s| is| are))\b[^:\n]{0,80}:[ \t]*\n|"
    r"(?:sure|certainly|of course|here(?:'s| is| are))\b[^:\n]{0,80}"
    r"(?:version|wording|phrasing|paraphrase|instruction)s?\**:)\s*",
    re.IGNORECASE,
)
_QUOTES = (("“", "”"), ("‘", "’"), ("«", "»"), ("„", "“"), ('"', '"'), ("'", "'"), ("`", "`"), ("**", "**"))


def cleaned(answer: str, original: str) -> str:
    r"""A paraphrase without what models add: thinking, lead-ins, list marks, quotation marks.

    >>> cleaned('Sure, here is one:\n1. "Is it good or bad?"\n2. Good?', "Good or bad?")
    'Is it good or bad?'
    """
    text = _LEAD.sub("", _THINKING.sub("", answer).strip()).strip()
    lines = [line.strip() for line in text.splitlines()]
    if "\n" not in original.strip():
        lines = lines[:1]
    return _unquoted(_MARK.sub("", _unquoted("\n".join(lines)))).strip()


def _unquoted(text: str) -> str:
    """A text without quotation marks around all of it."""
    text = text.strip()
    for opening, closing in _QUOTES:
        inside = text[len(opening) : len(text) - len(closing)]
        whole = inside and text == opening + inside + closing
        if whole and opening not in inside and closing not in inside:
            return inside.strip()
    return text


@dataclass(frozen=True, kw_only=True)
class Llm(Sampled):
    """A language model as paraphraser.

    Args:
        model: The name of one of the study's models, or a model (``use`` and its options) that only rewords.
        temperatures: The temperatures.
        k: The number of paraphrases at each.
        tries: The most answers to draw for each paraphrase.
        max_tokens: The limit on an answer; by default as many tokens as the instruction has characters,
            which is at least three times its length.
        language: That of the request, by its code: the instruction's own.
        request: Template of the request, over ``instruction``; a plain one in that language by default.
        cut_off: What becomes of an answer that does not end within the limit: ``drop`` it and draw another,
            or ``keep`` it as it is, with ``cut_off`` in its annotations.
    """

    model: str | dict[str, Any]
    max_tokens: int | None = None
    language: str = ENGLISH
    request: str | None = None
    _seeded: ClassVar[str] = "llm"

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self._request, ["instruction"], where="request")
        if "instruction" not in names_in(self._request):
            raise SpecError(
                "the request does not contain the instruction",
                where="request",
                expected="{{ instruction }} somewhere",
                found=self._request[:120],
            )

    @property
    def _request(self) -> str:
        return self.request or words_in(self.language)["reword"].replace("{}", "{{ instruction }}")

    def asked(self) -> Mapping[str, Any]:
        """The model, the request and the limit on an answer."""
        asked = {"model": self.model, "request": self._request, "max_tokens": self.max_tokens}
        return {**asked, **super().asked()}

    def to_ask(self, draft: Draft) -> ToAsk:
        """One call for each paraphrase that the draft lacks."""
        missing = sum(max(0, self.k - len(draft.of(f"{heat:g}"))) for heat in self._heats)
        return self.model, missing, len(self._asking(draft.original)), self._longest(draft.original)

    @property
    def _name(self) -> str:
        if isinstance(self.model, str):
            return self.model
        return str(self.model.get("model", self.model.get("use", "a model")))

    def _asking(self, original: str) -> str:
        return render(self._request, {"instruction": original}, where="request")

    def _longest(self, original: str) -> int:
        return self.max_tokens or max(48, len(original))

    def _drawn(
        self, source: None, context: PromptContext, temperature: float, count: int, seed: int, work: Work
    ) -> Iterable[Drawn]:
        original = context.prompt.instruction
        request = self._asking(original)
        prompt = Prompt((Message("user", request),), original, request)
        decoding = Decoding("paraphrase", temperature=temperature, max_tokens=self._longest(original))
        responses = work.ask(self.model, prompt, decoding, seed, count)
        return (self._read(answer, request, original, seed + n) for n, answer in enumerate(responses))

    def _read(self, answer: Response, request: str, original: str, seed: int) -> Drawn:
        """The paraphrase in an answer."""
        if answer.finish == "error":
            raise ModelError(
                "the model failed to write a paraphrase",
                where=self._name,
                found=answer.error or "an error",
                fix="run it again: the paraphrases so far are kept",
            )
        text = _THINKING.sub("", answer.text).strip().removeprefix(request.rpartition("\n")[2])
        text = cleaned(text, original)
        if len(text) > 8 and text in request.replace(original, ""):  # a line of the request
            text = original
        return text, answer.finish == "stop", {"seed": seed}
