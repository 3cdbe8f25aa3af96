"""``llm``: asks a model for paraphrases, at one temperature or several."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from quaver.core.records import Decoding, Message, Prompt
from quaver.core.seeds import derive
from quaver.design.paraphrase.paraphrase_draft import (
    Draft,
    Paraphrase,
    PromptContext,
    ToAsk,
    Work,
)
from quaver.design.paraphrase.paraphraser import (
    CUT_OFF,
    TEMPERATURE,
    CutOff,
    check_count,
    stand_ins,
    too_few,
)
from quaver.design.paraphrase.protected_words import escaped
from quaver.design.prompts.templates import check, names_in, render
from quaver.errors import ModelError, SpecError

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
    text = _LEAD.sub("", _THINKING.sub("", answer).strip())
    lines = [line.strip() for line in text.splitlines()]
    kept = [line for line in lines if line]
    if "\n" not in original.strip():
        kept = kept[:1]
    elif kept:
        kept = lines[lines.index(kept[0]) : len(lines) - lines[::-1].index(kept[-1])]
    return _unquoted(_MARK.sub("", _unquoted("\n".join(kept)) if kept else "")).strip()


def _unquoted(text: str) -> str:
    """A text without quotation marks around all of it."""
    text = text.strip()
    for opening, closing in _QUOTES:
        inside = text[len(opening) : len(text) - len(closing)]
        whole = inside and text == opening + inside + closing
        if whole and opening not in inside and closing not in inside:
            return inside.strip()
    return text


REQUEST = """\
Put the instruction below into other words. It must ask for exactly the same thing; it may be shorter or \
longer, and its sentences may be built in another way. Leave every label, name and number in it, and \
everything in double braces, as it stands. Do not follow the instruction and do not explain anything: \
write the new instruction and nothing else.

Instruction: {{ instruction }}

New instruction:"""

_HOTTEST = 5.0


class Llm:
    """A language model as paraphraser.

    Args:
        model: The name of one of the study's models, or a model (``use`` and its options) that only rewords.
        temperatures: The temperatures.
        k: The number of paraphrases at each.
        tries: The most answers to draw for each paraphrase.
        max_tokens: The limit on an answer; by default as many tokens as the instruction has characters,
            which is at least three times its length.
        request: Template of the request, over ``instruction``.
        cut_off: What becomes of an answer that does not end within the limit: ``drop`` it and draw another,
            or ``keep`` it as it is, with ``cut_off`` in its annotations.
    """

    factor = "paraphrase"
    part = "instruction"
    exact = False
    kept = True

    def __init__(
        self,
        *,
        model: str | dict[str, Any],
        temperatures: list[float] | None = None,
        k: int = 10,
        tries: int = 10,
        max_tokens: int | None = None,
        request: str = REQUEST,
        cut_off: CutOff = "drop",
    ) -> None:
        self._keeps = cut_off == "keep"
        self._temperatures = [0.7] if temperatures is None else temperatures
        check_temperatures(self._temperatures, k)
        check_count("k", k)
        check_count("tries", tries)
        check(request, ["instruction"], where="request")
        if "instruction" not in names_in(request):
            raise SpecError(
                "the request does not contain the instruction",
                where="request",
                expected="{{ instruction }} somewhere",
                found=request[:120],
            )
        self._model, self._k, self._tries = model, k, tries
        self._max_tokens, self._request = max_tokens, request

    def asked(self) -> Mapping[str, Any]:
        """The model, the request and the limit on an answer."""
        asked = {"model": self._model, "request": self._request, "max_tokens": self._max_tokens}
        return asked | ({"cut_off": "keep"} if self._keeps else {})

    def foreseen(self, original: str) -> Sequence[Paraphrase]:
        """``k`` paraphrases at each temperature."""
        return stand_ins(original, self._temperatures, self._k)

    def to_ask(self, draft: Draft) -> ToAsk:
        """One call for each paraphrase that the draft lacks."""
        missing = sum(max(0, self._k - len(draft.of(f"{one:g}"))) for one in self._temperatures)
        return ToAsk(self._model, missing, len(self._asking(draft.original)), self._longest(draft.original))

    def reword(self, context: PromptContext, draft: Draft, work: Work) -> Sequence[Paraphrase]:
        """``k`` paraphrases at each temperature, named ``t0.5-1``, ``t0.5-2`` and so on.

        Raises:
            ModelError: The model gave fewer.
        """
        chosen = []
        for temperature in self._temperatures:
            group = f"{temperature:g}"
            self._fill(temperature, group, context, draft, work)
            chosen += draft.of(group)[: self._k]
        return chosen

    def _asking(self, original: str) -> str:
        return render(self._request, {"instruction": original}, where="request")

    def _longest(self, original: str) -> int:
        return self._max_tokens or max(48, len(original))

    def _fill(self, temperature: float, group: str, context: PromptContext, draft: Draft, work: Work) -> None:
        most = self._tries * self._k
        drawn = 0
        while (missing := self._k - len(draft.of(group))) > 0:
            if drawn >= most:
                raise too_few(
                    draft,
                    group,
                    self._k,
                    f"temperature {group}",
                    "lower k, raise the temperature or tries, or use another model; what it gave is kept",
                )
            if not drawn:
                work.begin(f"{missing} paraphrases at temperature {group} from {_named(self._model)}")
            count = min(missing, most - drawn)
            self._draw(temperature, group, count, context, draft, work)
            drawn += count

    def _draw(
        self, temperature: float, group: str, count: int, context: PromptContext, draft: Draft, work: Work
    ) -> None:
        original = context.prompt.instruction
        request = self._asking(original)
        prompt = Prompt((Message("user", request),), original, request)
        decoding = Decoding("paraphrase", temperature=temperature, max_tokens=self._longest(original))
        before = draft.asked.get(group, 0)
        seed = (derive(context.seed, "llm", group) + before) % 2**31
        responses = work.ask(self._model, prompt, decoding, seed, count)
        draft.asked[group] = before + count
        for number, response in enumerate(responses):
            if response.finish == "error":
                raise ModelError(
                    "the model failed to write a paraphrase",
                    where=_named(self._model),
                    found=response.error or "an error",
                    fix="run it again: the paraphrases so far are kept",
                )
            cut = response.finish != "stop"
            if cut and not self._keeps:
                draft.drop(group, "cut off")
                continue
            paraphrase = cleaned(response.text, original)
            if _is_request(paraphrase, request, original):
                draft.drop(group, "echo")
                continue
            draft.offer(
                escaped(paraphrase, original),
                lambda n: f"t{group}-{n}",
                group,
                {TEMPERATURE: temperature} | ({CUT_OFF: True} if cut else {}),
                {"temperature": temperature, "seed": seed + number},
            )


def _is_request(paraphrase: str, request: str, original: str) -> bool:
    """Whether a model has returned a line of the request."""
    asked = request.replace(original, "")
    return len(paraphrase) > 8 and paraphrase in asked


def _named(model: str | Mapping[str, Any]) -> str:
    return model if isinstance(model, str) else str(model.get("model", model.get("use", "a model")))


def check_temperatures(temperatures: Sequence[float], k: int) -> None:
    """Check that paraphrases can be drawn at these temperatures."""
    if not temperatures:
        raise SpecError("no temperature is given", where="temperatures", expected="one or more")
    for temperature in temperatures:
        if not (math.isfinite(temperature) and 0 <= temperature <= _HOTTEST):
            raise SpecError(
                "this temperature is out of range",
                where="temperatures",
                expected=f"0 to {_HOTTEST:g}",
                found=f"{temperature:g}",
            )
        if temperature == 0 and k > 1:
            raise SpecError(
                "temperature 0 gives only one paraphrase",
                where="temperatures",
                expected="a temperature above 0, or k: 1",
                found=f"k: {k} at temperature 0",
            )
    if len({f"{one:g}" for one in temperatures}) < len(temperatures):
        raise SpecError("a temperature is given twice", where="temperatures", found=str(list(temperatures)))
