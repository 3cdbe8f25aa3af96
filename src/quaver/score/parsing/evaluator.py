"""The protocol of an evaluator.

A response is read in three steps. ``parsed_answer`` removes what is not the answer (thinking, marks of the
chat format, invisible characters). ``statuses`` decides, once for all evaluators, whether there is anything
to read (``error``, ``empty``, ``refused``) and how it ended (``truncated``, ``looping``). An evaluator then
reads the answer and decides between a label, ``ambiguous`` and ``no_label``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol

from pydantic import ValidationError

from quaver.core import registry
from quaver.core.arguments import excerpt, expectation, model_of
from quaver.core.label_values import Codebook
from quaver.core.records import LabelSet, Reading, Variant
from quaver.errors import SpecError, UnknownName
from quaver.score.parsing.parsed_answer import Answer


# Few readings differ, so each is made once and shared by millions of answers.
@lru_cache(maxsize=4096)
def valid(label: str, reason: str | None = None) -> Reading:
    """A label was read; ``reason`` is given if a fallback rule found it."""
    return Reading(label, "valid", reason)


@lru_cache(maxsize=4096)
def no_label(reason: str) -> Reading:
    """No label was read, and why."""
    return Reading(None, "no_label", reason)


@lru_cache(maxsize=4096)
def _ambiguous(reason: str) -> Reading:
    return Reading(None, "ambiguous", reason)


def ambiguous(labels: Iterable[str], how: str = "found") -> Reading:
    """Several labels were read: their codes, and how.

    >>> ambiguous(["pos", "neg"]).reason
    '2 labels found: neg, pos'
    """
    codes = sorted(set(labels))
    return _ambiguous(f"{len(codes)} labels {how}: {', '.join(codes)}")


def tied(labels: Iterable[str], probabilities: Mapping[str, float]) -> Reading:
    """The answer is ``valid`` but prefers no label.

    >>> tied(["pos", "neg"], {"pos": 0.5, "neg": 0.5}).reason
    '2 labels share the highest score: neg, pos'
    """
    codes = sorted(set(labels))
    reason = f"{len(codes)} labels share the highest score: {', '.join(codes)}"
    return Reading(None, "valid", reason, probabilities=probabilities)


__all__ = ["Answer", "Evaluator", "Reader", "Rule"]


Reader = Callable[[Answer], Reading]
"""Reads one answer. It is pure, never raises, and returns the status ``valid``, ``ambiguous`` or ``no_label``
(made by ``quaver.score.parsing.evaluator``). Marks and other statuses are set elsewhere."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A reader that is a function of an answer and of what was known before it.

    Two that are equal read alike, so that an answer to several variants is read once.
    """

    read: Callable[..., Reading]
    known: tuple[Hashable, ...]

    def __call__(self, answer: Answer) -> Reading:
        """Read one answer."""
        return self.read(answer, *self.known)


class Evaluator(Protocol):
    """A named rule that turns an answer into a label or a reason why not.

    A class registered under ``quaver.evaluators``. Its constructor takes the rule's options as keyword
    arguments; its docstring states the rule exactly, since the report quotes it.

    It is shown the answer's text, how the answer ended and whether there was thinking, and answers that show
    the same are read once. A class attribute ``reads`` asks for more: ``"tokens"`` means that it reads the
    tokens' log-probabilities instead of the text, so that an empty or refusing text does not matter;
    ``"pair"`` that it reads a follow-up with the answer that it quotes (``Answer.about``), and sets status
    and marks itself; ``"response"`` that it is shown the whole response (thinking, what else the model sent,
    how long it took), so that every answer is read. A class attribute ``of`` names the follow-up that it
    reads by default. A task with fields is read by evaluators whose attribute ``reads_fields`` is true: they
    find the value of the field that the variant names (``variant.label_field``) in a JSON object, and what it
    quotes by a function ``quote`` of an answer and a key of the object.
    """

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader for one variant's answers.

        Args:
            labels: The task's label set.
            variant: The prompt variant; ``variant.answers`` maps each label code to the answer asked for.
        """
        ...


def reads_fields(evaluator: Evaluator) -> bool:
    """Whether an evaluator finds the value of a field that the variant names."""
    return bool(getattr(evaluator, "reads_fields", False))


def readers_of(evaluator: Evaluator, labels: LabelSet, variant: Variant) -> list[Reader]:
    """The readers of one variant's answers: one for each field, or one where the task has none.

    Raises:
        SpecError: The task has fields, and the evaluator does not read them.
    """
    if not isinstance(labels, Codebook):
        return [evaluator.reader(labels, variant)]
    if not reads_fields(evaluator):
        raise SpecError(
            "this evaluator does not tell the fields of an answer apart",
            where="evaluators",
            expected="json_field without the option field",
            found=type(evaluator).__name__,
        )
    readers = []
    for field in labels.fields:
        reader = evaluator.reader(field.labels, field.of(variant))
        if field.evidence:
            reader = Rule(_with_quote, (reader, getattr(evaluator, "quote"), field.quote_key))  # noqa: B009
        readers.append(reader)
    return readers


def _with_quote(
    answer: Answer, reader: Reader, quote: Callable[[Answer, str], str | None], key: str
) -> Reading:
    """A field's reading with what the answer quotes for it."""
    reading = reader(answer)
    if reading.label is None or (quoted := quote(answer, key)) is None:
        return reading
    return replace(reading, quote=quoted)


Given = str | Mapping[str, Any]
"""A registered evaluator: its name, or ``use: NAME`` and its options."""


def evaluator_within(given: Given, where: str) -> Evaluator:
    """Make the evaluator that another one uses to read an answer's text.

    Raises:
        UnknownName: There is no such evaluator or option.
        SpecError: It does not read an answer's text, or an option is missing or invalid.
    """
    options = {"use": given} if isinstance(given, str) else dict(given)
    name = options.pop("use", None)
    if not isinstance(name, str):
        raise SpecError(
            "no evaluator is named",
            where=where,
            expected="a name, or use: NAME and options",
            found=excerpt(given),
        )
    plugin = registry.load("evaluators", name, where=where)
    if getattr(plugin, "reads", "text") != "text" or getattr(plugin, "of", ""):
        raise SpecError(
            f"the evaluator {name!r} does not read the answer's text",
            where=where,
            expected="a rule that finds the label in the text of the answer itself",
            found=name,
            fix="list it among the study's evaluators, beside this one",
        )
    model = model_of(plugin)
    if strange := next((option for option in options if option not in model.model_fields), None):
        raise UnknownName("option", strange, model.model_fields, where=f"{where}: {name}")
    try:
        checked = model.model_validate(options)
    except ValidationError as error:
        option = str(error.errors()[0]["loc"][0])
        raise SpecError(
            "this value does not fit" if option in options else f"the option {option!r} is missing",
            where=f"{where}: {name}: {option}",
            expected=expectation(
                [
                    error_of_field
                    for error_of_field in error.errors()
                    if error_of_field["loc"][:1] == (option,)
                ]
            ),
            found=excerpt(options.get(option)),
        ) from None
    evaluator: Evaluator = plugin(**{option: getattr(checked, option) for option in checked.model_fields_set})
    return evaluator
