"""``pegasus``: the paraphraser of Barrie, Palaiologou & Törnberg (2024), sampled at rising temperatures.

``tuner007/pegasus_paraphrase`` reads and writes at most 60 tokens, and was trained on single sentences: it
silently cuts off a longer text. The instruction is therefore split into sentences, which are reworded one by
one and joined again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

from pydantic import Field

from quaver.design.paraphrase.llm_paraphraser import Drawn, Sampled
from quaver.design.paraphrase.meaning import placeholders, sentences
from quaver.design.paraphrase.paraphraser import Count, PromptContext, Work
from quaver.errors import SpecError, Unavailable

TEMPERATURES = tuple(round(0.1 + 4.9 * step / 24, 1) for step in range(25))
"""25 temperatures from 0.1 to 5.0."""

_LIMIT = 60


@dataclass(frozen=True, kw_only=True)
class Pegasus(Sampled):
    """A Pegasus model as paraphraser; needs the extra ``pegasus``.

    Args:
        model: A model's name on the Hugging Face hub, or its folder, relative to the study file or absolute.
        temperatures: The temperatures of sampling.
        k: The number of paraphrases at each.
        beams: The number of beams sampled together (at least as many as paraphrases are missing), of which
            the most likely ones are used, as in the paper; 1 samples each paraphrase separately.
        top_k: The number of tokens to sample from at each step; 0 for all.
        tries: The most answers to draw for each paraphrase.
        device: ``cpu``, ``cuda``, …; by default the accelerator, if there is one.
        cut_off: What becomes of a paraphrase that does not end within the limit, as most do at temperature 5:
            ``drop`` it and draw another, or ``keep`` it as it is, with ``cut_off`` in its annotations.
    """

    model: str = "tuner007/pegasus_paraphrase"
    beams: Count = 50
    top_k: Annotated[int, Field(ge=0)] = 50
    device: str | None = None
    _usual: ClassVar[Sequence[float]] = TEMPERATURES
    _seeded: ClassVar[str] = "pegasus"

    def __post_init__(self) -> None:
        if 0 in self._heats:
            raise SpecError("Pegasus is sampled", where="temperatures", expected="above 0", found="0")
        super().__post_init__()

    def asked(self) -> Mapping[str, Any]:
        """The model and how it is sampled."""
        return {"model": self.model, "beams": self.beams, "top_k": self.top_k, **super().asked()}

    @property
    def _name(self) -> str:
        return self.model

    def _source(self, context: PromptContext) -> _Sampler:
        beside = context.home / self.model
        return _Sampler(str(beside) if beside.is_dir() else self.model, self.device)

    def _drawn(
        self, source: _Sampler, context: PromptContext, temperature: float, count: int, seed: int, work: Work
    ) -> Iterable[Drawn]:
        pieces = _pieces(context.prompt.instruction, source)
        texts = [text for text, _, is_reworded in pieces if is_reworded]
        made = source.sample(texts, count, temperature, self.beams, self.top_k, seed)
        for sentences_drawn in zip(*made, strict=True):
            drawn, whole = iter(sentences_drawn), ""
            for text, space, is_reworded in pieces:
                whole += (next(drawn)[0] if is_reworded else text) + space
            ended = all(done for _, done in sentences_drawn)
            yield whole, ended, {"seed": seed, "sentences": len(texts)}


_Piece = tuple[str, str, bool]
"""A sentence, the white space after it, and whether it is reworded."""


def _pieces(instruction: str, sampler: _Sampler) -> list[_Piece]:
    """The sentences of the instruction; those with placeholders stay unchanged."""
    pieces = []
    for sentence in sentences(instruction):
        text = sentence.rstrip()
        is_reworded = bool(text) and not placeholders(text)
        if is_reworded and sampler.tokens(text) > sampler.limit:
            raise SpecError(
                f"a sentence is too long for the model, which reads {sampler.limit} tokens",
                where="prompt.instruction",
                expected="shorter sentences",
                found=f"{sampler.tokens(text)} tokens: {text[:80]}",
            )
        pieces.append((text, sentence[len(text) :], is_reworded))
    if not any(is_reworded for *_, is_reworded in pieces):
        raise SpecError(
            "every sentence of the instruction has a placeholder, which this model would lose",
            where="prompt.instruction",
            found=instruction[:120],
        )
    return pieces


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
                fix='pip install "quaver[pegasus]"',
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
    ) -> list[list[tuple[str, bool]]]:
        """Draw paraphrases of each text, each with whether it ended within the limit."""
        torch, tokenizer, model = self._loaded
        batch = tokenizer(list(texts), padding=True, return_tensors="pt").to(model.device)
        with torch.random.fork_rng(), torch.no_grad():
            torch.manual_seed(seed)
            rows = model.generate(
                input_ids=batch["input_ids"],
                attention_mask=batch["attention_mask"],
                do_sample=True,
                temperature=float(temperature),
                top_k=top_k,
                num_beams=max(beams, count) if beams > 1 else 1,
                num_return_sequences=count,
                max_new_tokens=self.limit - 1,
            ).tolist()
        drawn = []
        for row in rows:
            text = tokenizer.decode(row, skip_special_tokens=True).strip()
            drawn.append((text, tokenizer.eos_token_id in row))
        return [drawn[index : index + count] for index in range(0, len(drawn), count)]
