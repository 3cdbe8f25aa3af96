"""``pegasus``: the paraphraser of Barrie, Palaiologou & Törnberg (2024), sampled at rising temperatures.

``tuner007/pegasus_paraphrase`` reads and writes at most 60 tokens, and was trained on single sentences: it
silently cuts off a longer text. The instruction is therefore split into sentences (a very long one at its
commas and conjunctions); each is reworded separately, and they are joined again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from quaver.core.seeds import derive
from quaver.design.paraphrase.llm_paraphraser import check_temperatures
from quaver.design.paraphrase.paraphrase_draft import Draft, Paraphrase, PromptContext, Work
from quaver.design.paraphrase.paraphraser import (
    CUT_OFF,
    TEMPERATURE,
    CutOff,
    check_count,
    stand_ins,
    too_few,
)
from quaver.design.paraphrase.protected_words import clauses, escaped, placeholders, sentences
from quaver.errors import SpecError, Unavailable

TEMPERATURES = tuple(round(0.1 + 4.9 * step / 24, 1) for step in range(25))
"""25 temperatures from 0.1 to 5.0."""

_LIMIT = 60


class Pegasus:
    """A Pegasus model as paraphraser; needs the extra ``hf``.

    Args:
        model: A model's name on the Hugging Face hub, or its folder, relative to the study file or absolute.
        temperatures: The temperatures of sampling.
        k: The number of paraphrases at each.
        beams: The number of beams sampled together, of which the most likely ones are used, as in the paper;
            1 samples each paraphrase separately.
        top_k: The number of tokens to sample from at each step; 0 for all.
        tries: The most paraphrases to draw for each one needed.
        batch: The number of sentences reworded together.
        device: ``cpu``, ``cuda``, …; by default the accelerator, if there is one.
        cut_off: What becomes of a paraphrase that does not end within the limit, as most do at temperature 5:
            ``drop`` it and draw another, or ``keep`` it as it is, with ``cut_off`` in its annotations.
    """

    factor = "paraphrase"
    part = "instruction"
    exact = False
    kept = True

    def __init__(
        self,
        *,
        model: str = "tuner007/pegasus_paraphrase",
        temperatures: list[float] | None = None,
        k: int = 10,
        beams: int = 50,
        top_k: int = 50,
        tries: int = 10,
        batch: int = 8,
        device: str | None = None,
        cut_off: CutOff = "drop",
    ) -> None:
        self._keeps = cut_off == "keep"
        self._temperatures = list(TEMPERATURES) if temperatures is None else temperatures
        check_temperatures(self._temperatures, k)
        if min(self._temperatures) <= 0:
            raise SpecError("Pegasus is sampled", where="temperatures", expected="above 0", found="0")
        for name, value in (("k", k), ("beams", beams), ("tries", tries), ("batch", batch)):
            check_count(name, value)
        self._model, self._k, self._beams, self._top_k = model, k, beams, top_k
        self._tries, self._batch, self._device = tries, batch, device

    def asked(self) -> Mapping[str, Any]:
        """The model and how it is sampled."""
        asked = {"model": self._model, "beams": self._beams, "top_k": self._top_k}
        return asked | ({"cut_off": "keep"} if self._keeps else {})

    def foreseen(self, original: str) -> Sequence[Paraphrase]:
        """``k`` paraphrases at each temperature."""
        return stand_ins(original, self._temperatures, self._k)

    def to_ask(self, draft: Draft) -> None:
        """Nothing: it has a model of its own."""

    def reword(self, context: PromptContext, draft: Draft, work: Work) -> Sequence[Paraphrase]:
        """``k`` paraphrases at each temperature, named ``t0.5-1``, ``t0.5-2`` and so on.

        Raises:
            SpecError: A sentence is too long for the model and cannot be split.
            ModelError: The model gave fewer, or cannot be loaded.
        """
        chosen: list[Paraphrase] = []
        sampler: _Sampler | None = None
        for temperature in self._temperatures:
            group = f"{temperature:g}"
            if len(draft.of(group)) < self._k:
                work.begin(f"paraphrases at temperature {group} from {self._model}")
                sampler = sampler or self._sampler(context)
                self._fill(sampler, temperature, group, context, draft)
            chosen += draft.of(group)[: self._k]
        return chosen

    def _sampler(self, context: PromptContext) -> _Sampler:
        beside = context.home / self._model
        return _Sampler(str(beside) if beside.is_dir() else self._model, self._device)

    def _fill(
        self, sampler: _Sampler, temperature: float, group: str, context: PromptContext, draft: Draft
    ) -> None:
        original = context.prompt.instruction
        pieces = _pieces(original, sampler)
        drawn = 0
        while (missing := self._k - len(draft.of(group))) > 0:
            if drawn >= self._tries * self._k:
                fix = "lower k, raise tries, or leave this temperature out; what the model gave is kept"
                raise too_few(draft, group, self._k, f"temperature {group}", fix)
            count = min(missing, self._beams) if self._beams > 1 else missing
            before = draft.asked.get(group, 0)
            seed = (derive(context.seed, "pegasus", group) + before) % 2**31
            self._draw(sampler, pieces, temperature, group, count, seed, draft)
            draft.asked[group] = before + count
            drawn += count

    def _draw(
        self,
        sampler: _Sampler,
        pieces: Sequence[_Piece],
        temperature: float,
        group: str,
        count: int,
        seed: int,
        draft: Draft,
    ) -> None:
        texts = [piece.text for piece in pieces if piece.reword]
        made: list[list[_Drawn]] = []
        for index in range(0, len(texts), self._batch):
            some = texts[index : index + self._batch]
            made += sampler.sample(some, count, temperature, self._beams, self._top_k, seed + index)
        for number in range(count):
            drawn = [sentence[number] for sentence in made]
            cut = not all(one.ended for one in drawn)
            if cut and not self._keeps:
                draft.drop(group, "cut off")
                continue
            said = iter([one.text for one in drawn])
            whole = [(next(said) if piece.reword else piece.text, piece.space) for piece in pieces]
            paraphrase = escaped("".join(f"{text}{space}" for text, space in whole), draft.original)
            covariates = {TEMPERATURE: temperature} | ({CUT_OFF: True} if cut else {})
            origin = {"temperature": temperature, "seed": seed, "sentences": len(texts)}
            draft.offer(paraphrase, lambda n: f"t{group}-{n}", group, covariates, origin)


class _Drawn(NamedTuple):
    """A paraphrase of one sentence, and whether it ended within the limit."""

    text: str
    ended: bool


class _Piece(NamedTuple):
    """A sentence or a part of one, and the white space after it."""

    text: str
    space: str
    reword: bool


def _pieces(instruction: str, sampler: _Sampler) -> list[_Piece]:
    """The instruction in pieces that fit the model; those with placeholders stay unchanged."""
    result = []
    for sentence in sentences(instruction):
        held = bool(placeholders(sentence)) or not sentence.strip()
        for part in [sentence] if held else _fitting(sentence, sampler):
            text = part.rstrip()
            result.append(_Piece(text, part[len(text) :], not held))
    if not any(piece.reword for piece in result):
        raise SpecError(
            "every sentence of the instruction has a placeholder, which this model would lose",
            where="prompt.instruction",
            found=instruction[:120],
        )
    return result


def _fitting(sentence: str, sampler: _Sampler) -> list[str]:
    """A sentence in as few parts as the model's limit allows."""
    if sampler.tokens(sentence) <= sampler.limit:
        return [sentence]
    parts: list[str] = []
    for clause in clauses(sentence):
        if sampler.tokens(clause) > sampler.limit:
            raise SpecError(
                f"a sentence is too long for the model, which reads {sampler.limit} tokens",
                where="prompt.instruction",
                expected="a full stop, comma or conjunction before that",
                found=f"{sampler.tokens(clause)} tokens: {clause[:80]}",
            )
        if parts and sampler.tokens(parts[-1] + clause) <= sampler.limit:
            parts[-1] += clause
        else:
            parts.append(clause)
    return parts


class _Sampler:
    """A Pegasus model, loaded on first use."""

    def __init__(self, model: str, device: str | None) -> None:
        self._name, self._wanted = model, device

    @cached_property
    def _loaded(self) -> tuple[Any, Any, Any]:
        """PyTorch, the tokenizer and the model."""
        try:
            import torch
            from transformers import AutoTokenizer, PegasusForConditionalGeneration
        except ImportError as error:
            raise Unavailable(
                "rewording with Pegasus needs PyTorch and transformers",
                found=str(error),
                fix='pip install "quaver[hf]"',
            ) from None
        try:
            tokenizer = AutoTokenizer.from_pretrained(self._name)
            model: Any = PegasusForConditionalGeneration.from_pretrained(self._name)
        except (OSError, ValueError) as error:
            raise Unavailable(
                "the paraphrasing model cannot be loaded",
                where=self._name,
                found=str(error).splitlines()[0][:200] if str(error) else type(error).__name__,
                fix="give this machine access to the hub once, or name the model's folder",
            ) from None
        device = self._wanted or ("cuda" if torch.cuda.is_available() else "cpu")
        return torch, tokenizer, model.to(device).eval()

    @property
    def limit(self) -> int:
        """The most tokens that it reads and writes."""
        _, _, model = self._loaded
        return min(_LIMIT, int(model.config.max_position_embeddings))

    def tokens(self, text: str) -> int:
        """The number of tokens of a text, including the end token."""
        _, tokenizer, _ = self._loaded
        return len(tokenizer(text.strip())["input_ids"])

    def sample(
        self, texts: Sequence[str], count: int, temperature: float, beams: int, top_k: int, seed: int
    ) -> list[list[_Drawn]]:
        """Draw paraphrases of each text."""
        torch, tokenizer, model = self._loaded
        batch = tokenizer(list(texts), padding=True, return_tensors="pt").to(model.device)
        with torch.random.fork_rng(), torch.no_grad():
            torch.manual_seed(seed)
            drawn = model.generate(
                input_ids=batch["input_ids"],
                attention_mask=batch["attention_mask"],
                do_sample=True,
                temperature=float(temperature),
                top_k=top_k,
                num_beams=beams,
                num_return_sequences=count,
                max_new_tokens=self.limit - 1,
            )
        end = tokenizer.eos_token_id
        texts_drawn = [
            _Drawn(tokenizer.decode(row, skip_special_tokens=True).strip(), end in row)
            for row in drawn.tolist()
        ]
        return [texts_drawn[index : index + count] for index in range(0, len(texts_drawn), count)]
