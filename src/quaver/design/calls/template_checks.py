"""Checks of a study's templates and answers, before anything is rendered: each mistake is one error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from quaver.core.records import Item, LabelSet, Variant
from quaver.design.prompts.postfix import check_postfix
from quaver.design.prompts.rendering import PROMPT_NAMES
from quaver.design.prompts.templates import check, check_columns, check_syntax, names_in
from quaver.design.spec import StudySpec
from quaver.design.spec.study_file import Positions
from quaver.errors import SpecError


def check_spec_syntax(spec: StudySpec, source: Positions) -> None:
    """Check that the study file's own templates are templates: the variants are made of them.

    Raises:
        SpecError: One is not.
    """
    for template, where in _texts(spec, source):
        check_syntax(template, where=where)
    for part in ("system", "layout", "instruction", "postfix"):
        check_syntax(getattr(spec.prompt, part), where=source.where("prompt", part))


def check_templates(
    spec: StudySpec, variants: Sequence[Variant], items: Sequence[Item], source: Positions
) -> None:
    """Check the templates of the items' text and of every variant.

    Raises:
        SpecError: One is no template, or never shows what it must show.
        UnknownName: One uses a field or column that does not exist.
    """
    columns = set(items[0].fields)
    own = {"options"} if spec.task.options else set()
    shared = [name for name in PROMPT_NAMES if name in own or name != "options"]
    for template, where in _texts(spec, source):
        check(template, columns | {"item"} | own, where=where, needs=[*items[0].fields, "item"])
        check_columns(template, columns, where=where)
    known = {
        "instruction": shared,
        "postfix": shared,
        "system": [*shared, "text", "instruction", "postfix", "question"],
        "layout": [*shared, "text", "instruction", "postfix", "question", "examples"],
    }
    _check_descriptions(variants, source)
    checked: set[tuple[str, str]] = set()  # most variants share their parts with others
    for variant in variants:
        for part, names in known.items():
            template, where = getattr(variant, part), _of_variant(variant, source, part)
            if (part, template) not in checked:
                checked.add((part, template))
                check(template, names, where=where)
                check_columns(template, columns, where=where)
        check(variant.reply, ["answer", "item"], where=_of_variant(variant, source, "reply"))
        if not (names_in(variant.layout) | names_in(variant.system)) & {"text", "item"}:
            raise SpecError(
                "the prompt never shows the item's text",
                where=_of_variant(variant, source, "layout"),
                expected="{{ text }} in the layout or the system message",
                found=variant.layout[:120],
            )


def _check_descriptions(variants: Sequence[Variant], source: Positions) -> None:
    parts = ("instruction", "postfix", "system", "layout", "schema")
    described = [variant for variant in variants if variant.definitions]
    if described and not any(
        "definition" in getattr(variant, part) or (part == "schema" and variant.schema)
        for variant in described
        for part in parts
    ):
        raise SpecError(
            "the prompt never shows the labels' definitions that are varied",
            where=_of_variant(described[0], source, "definitions"),
            expected="{{ label.definition }} in a loop over labels, a detailed strategy or JSON answers",
        )


def check_postfixes(variants: Sequence[Variant], labels: LabelSet, source: Positions) -> None:
    """Check that no postfix contradicts its variant's answers.

    Raises:
        SpecError: One does.
    """
    checked: set[tuple[str, tuple[str, ...]]] = set()
    for variant in variants:
        key = (variant.postfix, tuple(variant.answers.values()))
        if key not in checked:
            checked.add(key)
            check_postfix(variant, labels, where=_of_variant(variant, source, "postfix"))


def check_answers(variant: Variant, source: Positions) -> None:
    """Check that each label of a variant has an answer of its own.

    Raises:
        SpecError: One has none, or two have the same.
    """
    codes_by_answer: dict[str, str] = {}
    for code, answer in variant.answers.items():
        if not answer.strip():
            raise SpecError(
                f"the label {code!r} has an empty answer",
                where=_of_variant(variant, source, "answers"),
                expected="a text",
                found=repr(answer),
            )
        other = codes_by_answer.setdefault(answer.strip().casefold(), code)
        if other != code:
            raise SpecError(
                f"the labels {other!r} and {code!r} have the same answer",
                where=_of_variant(variant, source, "answers"),
                expected="a different answer for every label",
                found=answer,
            )


def _texts(spec: StudySpec, source: Positions) -> Iterator[tuple[str, str]]:
    """The templates of the items' text, and where each stands in the study file."""
    several = len(spec.items.text) > 1
    for name, template in spec.items.text.items():
        yield template, source.where("items", "text", *([name] if several else []))


def _of_variant(variant: Variant, source: Positions, part: str) -> str:
    """Where a variant's part stands: in the prompt, or wherever the variants come from."""
    if not variant.factors:
        return source.where("prompt", part)
    return f"{source.where('variants')}: {variant.id}: {part}"
