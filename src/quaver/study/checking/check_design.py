"""``quaver.check``: what would be asked about a table, the study file that says so, and the verdict."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, Final

from typing_extensions import Unpack

from quaver.collect.run.progress import Price, Progress
from quaver.core import registry
from quaver.core.arguments import guarded, taking
from quaver.core.label_decisions import Decision, label_line
from quaver.core.model import Keyed
from quaver.core.options import with_defaults
from quaver.core.replaced_file import replace_bytes, writing
from quaver.design.items.item_data import items_from, name_of_items, written_items
from quaver.design.items.table_files import how_written
from quaver.design.prompt_words import ENGLISH, WORDLESS, words_by_language, words_in
from quaver.design.prompts.templates import literal
from quaver.design.spec.models_spec import model_of_name
from quaver.errors import ItemError, QuaverError, Unavailable, UnknownName
from quaver.models.local.weights import find_weights
from quaver.models.python_function import takes_text_alone
from quaver.report.findings.verdict_card import Card
from quaver.report.page_templates import template
from quaver.score.parsing.languages import language_of, languages
from quaver.study.checking.check_file import sealed, study_text, write_check_file
from quaver.study.checking.check_options import BUNDLED, CheckOptions
from quaver.study.checking.coding_sheet import coding_sheet
from quaver.study.checking.text_table import TextTable, doubts_about, read_text_table
from quaver.study.collection.forecast import Forecast
from quaver.study.imports.columns import Table, table_of
from quaver.study.imports.import_options import written_in
from quaver.study.session import Study
from quaver.study.sources.prices import price_given
from quaver.study.sources.study_file_source import StudyFile, asking

MOST: Final = len(words_by_language()[ENGLISH]["plain"])
"""The most instructions, the original among them; other languages have fewer."""


def language_of_prompts(asked: str | None, instruction: str | None, texts: Iterable[str]) -> str:
    """The language of the words that Quaver adds to prompts: that of the instruction, or of the texts.

    Args:
        asked: A language that is asked for, by its code.
        instruction: The user's own.
        texts: Those that are labelled.

    Returns:
        Its code; ``none`` where the instruction is in a language that Quaver has no words in, so that it
        stands alone. A plain question is English then.

    Raises:
        UnknownName: Quaver has no words in the language that is asked for.
    """
    if asked is not None and asked not in words_by_language():
        raise UnknownName("language", asked, words_by_language(), where="--language")
    if asked is not None:
        return asked
    code = (instruction and language_of([instruction])) or language_of(texts) or ENGLISH
    lacking = WORDLESS if instruction else ENGLISH
    return code if code in words_by_language() else lacking


def instruction_texts(
    own: str | None, n: int, *, fields: bool = False, images: bool = False, language: str = ENGLISH
) -> dict[str, str]:
    """Templates of an instruction in ``n`` forms by name, the original first.

    The user's own instruction keeps its words, behind a different opening in each; in a language that has no
    openings here it stands alone.

    Args:
        own: It; None for a plain one.
        n: How many forms.
        fields: Whether it asks for several variables.
        images: Whether it asks about pictures; where Quaver has no words for these, the user's own
            instruction stands alone.
        language: That of the words that Quaver adds.

    >>> instruction_texts("Is it {good}?", 2)
    {'original': 'Is it {good}?', 'read': 'Read the text above. Is it {good}?'}
    """
    words = words_in(language)
    if images:
        words = words.get("images", {})
        if not (own or words):
            raise QuaverError(
                "Quaver has no question about pictures in this language",
                where="--language",
                expected="en, or an instruction of your own",
                found=language,
            )
    text = literal((own or "").strip())
    framed = {name: frame.replace("{}", text) for name, frame in words.get("framed", {}).items()}
    forms = {"original": text, **framed} if own is not None else words["fields" if fields else "plain"]
    if len(forms) == 1:
        return forms
    if not 1 <= n <= len(forms):
        raise QuaverError(
            "so many prompts cannot be made",
            where="prompts",
            expected=f"1 to {2 * len(forms)}",
            found=str(2 * n),
            fix="take fewer, and add your own to the study file that this writes",
        )
    return dict([*forms.items()][:n])


_TOKENS_OF_SERVED = 256
"""What a model may write; one that reasons first gets room for that beside."""

HERE = ("llamacpp",)
"""Engines in this process: small models, which are held to the labels."""

_REPEATS, _REPEATS_ALONE = 2, 5
"""How often each prompt asks about each text, and how often the only one does."""

REORDERED_FROM = 4
"""Prompts from which half of them list the labels from last to first."""

_MORE_GOLD = 2
"""How many texts with gold labels are asked about at most, beside each one that is drawn."""

_PILOT = 3
"""Requests after which the time that the rest takes is known."""

_WIDE, _SHARE = 2.0, 20
"""How many times the least cost the most may be before a pilot asks on, up to one call in so many."""


@dataclass(frozen=True)
class Check:
    """A check of the labels of some texts; prints as the verdict's three lines and where the report is.

    Attributes:
        study: The study, to measure, export or run on.
        file: The study file that the check leaves behind.
        table: What the table of texts holds.
        design: What is asked: the study's ``name``; the ``instructions`` by name, the original first, whether
            they are the user's own (``is_own``), and the ``language`` of what Quaver adds; the ``model`` as a
            study file has it, whether it ``is_held`` to the labels, and whether it is a function that holds
            the instruction itself (``in_function``); the ``writer`` that puts the instruction in other words,
            if one is to, and in how many (``written``); whether labels are also listed in reverse
            (``reorders``), so how many ``forms`` and ``prompts`` there are; the ``sample`` drawn, None for
            all, and how many others with gold labels (``more_gold``); ``repeats``, ``max_tokens``, the
            ``definitions`` of labels, and the ``options`` of the check.
        taken: What each column was taken for, and what else was decided.
    """

    study: Study
    file: Path
    table: TextTable
    design: Mapping[str, Any]
    taken: tuple[Decision, ...]

    @cached_property
    def verdict(self) -> Card:
        """May the labels be used, what moves them, what to do next."""
        return self.study.verdict()

    @cached_property
    def report(self) -> Path:
        """The report, an HTML file."""
        return self.study.report()

    def __str__(self) -> str:
        return f"{self.verdict}\nThe report: {self.report}\nThe study file: {self.file}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        paths = f"The report: {escape(str(self.report))}<br>The study file: {escape(str(self.file))}"
        return f"{self.verdict._repr_html_()}<p>{paths}</p>"


def spends(study: Study) -> bool:
    """Whether asking a study's models costs money, or may."""
    prices = asking(study.source).prices
    functions = {model.name for model in study.spec.models if model.use == "function"}
    return any(price != Price(0.0, 0.0, 0.0) for name, price in prices.items() if name not in functions)


def _foreseen(study: Study) -> StudyFile:
    """A study's source, with stand-ins for paraphrases that a model has yet to make."""
    source = asking(study.source)
    return source.with_stand_ins() if source.lacks_paraphrases else source


def left_to_ask(
    study: Study, *, pilot: bool = False, watch: Callable[[Progress], None] | None = None
) -> Forecast:
    """What a study takes, once it has its keys; with a pilot, it is asked a little for its pace and cost.

    The pilot doubles where the lengths of the answers leave the cost open, as those of thought do.
    """
    forecast = study.plan()
    if forecast.stored == forecast.calls:
        return forecast
    for model in _foreseen(study).models.values():
        if isinstance(model, Keyed):
            model.check_key()
    if not pilot or study.source.lacks_paraphrases or forecast.seconds is not None:
        return forecast
    asked, before = _PILOT, -1
    while (forecast := study.plan(pilot=asked, watch=watch)).is_wide(_WIDE) and before < forecast.stored:
        if forecast.stored * _SHARE >= forecast.calls:
            break
        asked, before = 2 * asked, forecast.stored
    return forecast


def prepared_check(data: Any, *, replaces: bool = True, **options: Unpack[CheckOptions]) -> Check:
    """Read a table, decide what each column is, and write the study file; nothing is asked yet.

    Args:
        data: The texts; a `Table` that was read before is not read again.
        replaces: Whether it takes the place of another check of these texts, which is an error otherwise.
        **options: Those of `CheckOptions`.
    """
    given: CheckOptions = with_defaults(CheckOptions, options)
    decisions = _find_how_written(data, given)
    home, rows = _read(data, given["to"], written_in(given))
    name = rows.path.stem if isinstance(data, Table | str | Path) else home.name
    table, design, functions = _designed(rows, name, given)
    file = home / "study.yaml"
    write_check_file(file, sealed(study_text(file, rows.path, table, design)), replaces=replaces)
    study = Study.open(file, functions=functions)
    # What was decided beside the columns: texts, language, form of the answers, instruction; and hints
    items = _foreseen(study).experiment.items
    drawn = {item.gold for item in items}
    missed = [label for label in table.labels if table.counts[label] and label not in drawn]
    if (place := rows.rows[0].where.rpartition(": row")[0]) not in ("", rows.path.name):
        sheet = place.removeprefix(f"{rows.path.name} (sheet ").removesuffix(")")
        decisions.append(
            Decision(
                "sheet",
                sheet,
                "named" if given["sheet"] else "the one with the most rows by far; --sheet names another",
            )
        )
    decided = (
        *decisions,
        *table.taken,
        *doubts_about(rows, table.labelled, table.gold),
        *_said(
            table,
            design=design,
            more=sum(item.beside for item in items),
            labelled=sum(bool(item.known_gold) for item in items),
            missed=label_line(missed),
            languages=languages(),
            of_texts=language_of(str(item.fields.get(table.text)) for item in items),
            known=words_by_language(),
            held=asking(study.source).decided.task.held,
            instruction=study.spec.prompt.instruction,
            numbers=not (table.fields or design["definitions"])
            and all(label.lstrip("-").isdigit() for label in table.labels),
        ),
    )
    return Check(study, file, table, design, decided)


def _find_how_written(data: Any, given: CheckOptions) -> list[Decision]:
    """Fill in how a text file is written, where it shows that and nobody said it; what is to be checked."""
    format_found = how_written(Path(data)) if isinstance(data, str | Path) else {}
    if given["separator"] is None:
        given["separator"] = format_found.get("separator")
    if given["encoding"] is not None or "encoding" not in format_found:
        return []
    given["encoding"] = format_found["encoding"]
    return [Decision("encoding", format_found["encoding"], "the file is not UTF-8; --encoding names another")]


def _designed(
    rows: Table, name: str, given: CheckOptions
) -> tuple[TextTable, dict[str, Any], dict[str, Callable[..., Any]]]:
    """What a table holds, what is asked about it, and the function that is asked, by its name."""
    if given["evaluator"]:
        registry.load("evaluators", given["evaluator"], where="--evaluator")
    book = coding_sheet(Path(given["codebook"])) if given["codebook"] else {}
    given["labels"] = given["labels"] or tuple(book)
    table = read_text_table(rows, given)
    n, prompts, instruction = given["n"], given["prompts"], given["instruction"]
    own = callable(given["model"]) and takes_text_alone(given["model"])
    asked, functions = model_entry(given["model"], given["base_url"], _asked_of_model(given))
    forms = prompts if prompts < REORDERED_FROM else (prompts + 1) // 2
    texts = (row.text(table.text) for row in rows.rows)
    language = language_of_prompts(given["language"], instruction, texts)
    writer = _writer(given, asked) if forms > 1 and not own else ""
    instructions = instruction_texts(
        instruction,
        1 if own or writer else forms,
        fields=bool(table.fields),
        images=bool(table.images),
        language=language,
    )
    written = forms - 1 if writer else 0
    reorders = prompts >= REORDERED_FROM and not own and not table.fields
    design = {
        "name": name,
        "instructions": instructions,
        "language": language,
        "is_own": instruction is not None or own,
        "reorders": reorders,
        "forms": len(instructions) + written,
        "prompts": (len(instructions) + written) * (1 + reorders),
        "model": asked,
        "sample": n if n < table.rows else None,
        "more_gold": _MORE_GOLD * n if n < table.rows and table.known else 0,
        "repeats": given["repeats"] or (_REPEATS_ALONE if own else _REPEATS),
        "max_tokens": given["max_tokens"] or max_tokens(asked, table.labels),
        "is_held": _made(asked)["use"] in HERE,
        "options": given,
        "definitions": book,
        "in_function": own,
        "writer": writer,
        "written": written,
    }
    return table, design, functions


def _writer(given: CheckOptions, asked: str | Mapping[str, Any]) -> str | Mapping[str, Any]:
    """The model that puts an instruction in other words: the labelled one by its name, or another."""
    writer, named = given["paraphrase_with"], str(_made(asked)["name"])
    if writer is None or writer in (given["model"], named):
        return named if writer else ""
    is_there = given["base_url"] is not None and "/" not in writer and writer != BUNDLED
    beside = {name: value for name, value in _asked_of_model(given).items() if name == "key" and is_there}
    return _made(model_entry(writer, given["base_url"] if is_there else None, beside)[0])


def _read(data: Any, to: str | Path | None, written: Mapping[str, str]) -> tuple[Path, Table]:
    """The folder of a check, and the table of its texts.

    Texts that are not in a file are kept in the folder.
    """
    if isinstance(data, Table | str | Path):
        rows = data.anew() if isinstance(data, Table) else table_of(Path(data), written)
        return Path(to or rows.path.with_name(f"{rows.path.stem}-check")), rows
    items = items_from(data, where="data")
    if not items:
        raise ItemError("there are no texts", where="data", expected="one row or more", found="none")
    home, content = Path(to or "check"), written_items(items)
    source = home / name_of_items(content)
    with writing(home):
        home.mkdir(parents=True, exist_ok=True)
        replace_bytes(source, content)
    return home, Table(source, items)


def _asked_of_model(given: CheckOptions) -> dict[str, Any]:
    """A model's further keys in the study file, from the options of a check."""
    price = price_given(given["price"]) if given["price"] else None
    asked = {"key": given["key_from"], "effort": given["effort"], "price": price}
    return {name: value for name, value in asked.items() if value is not None}


_OPTIONS: Final = {"base_url": "base-url", "key": "key-from"}
"""The options of a check that a model's entry in the study file calls otherwise."""


def model_entry(
    model: str | Callable[..., Any], base_url: str | None = None, beside: Mapping[str, Any] | None = None
) -> tuple[str | dict[str, Any], dict[str, Callable[..., Any]]]:
    """The study file's entry for a model, and the function that belongs to it."""
    if not isinstance(model, str):
        for option, value in {"base_url": base_url, **(beside or {})}.items():
            if value is not None:
                raise QuaverError(
                    "a function takes no option of a server's model",
                    where=f"--{_OPTIONS.get(option, option)}",
                    expected="a model that a server runs: --model PROVIDER/NAME",
                    found="a function",
                    fix="leave the option out; the function sets what it needs itself",
                )
        name = getattr(model, "__name__", "")
        name = name if name.isidentifier() else "annotate"
        return {"name": name, "use": "function"}, {name: model}
    more = dict(beside or {})
    if base_url is not None:
        more["base_url"] = base_url
    if base_url is not None and "/" not in model and model != BUNDLED:  # a name that the server knows
        return {"name": model, "use": "openai_compatible", "model": model, **more}, {}
    made = model_of_name(model, where="--model")
    if made["use"] in HERE and base_url is not None:
        raise QuaverError(
            "this model runs here, at no address",
            where="--base-url",
            expected="the name of a model that a server knows: --model NAME, or PROVIDER/NAME",
            found=model,
        )
    if made["use"] in HERE:
        # See that a model's file is there, before a study file is written that names it
        try:
            find_weights(made["model"])
        except Unavailable as error:
            error.where = "--model"
            raise
    return ({**made, **more} if more else model), {}


def max_tokens(model: str | Mapping[str, Any], labels: Sequence[str]) -> int:
    """Where an answer is cut off: models that run here write a label and little more."""
    made = _made(model)
    if made["use"] in HERE:
        return max(8, 4 + max((len(label.encode()) for label in labels), default=0) // 2)
    return _TOKENS_OF_SERVED


def _made(model: str | Mapping[str, Any]) -> Mapping[str, Any]:
    return model_of_name(model) if isinstance(model, str) else model


def _said(table: TextTable, **facts: Any) -> list[Decision]:
    """The decisions of a template with a line for each."""
    page = template("terminal/check_decisions.txt")
    text = page.render(table=table, shell=shlex.quote, **facts)
    return [Decision(*json.loads(line)) for line in text.split("\n") if line]


def run_agreed(study: Study, *, agreed: bool, batch: bool = False) -> str:
    """Ask what is left of a study, if it is free or agreed to; returns how the run ended."""
    plan = left_to_ask(study)
    if plan.stored == plan.calls:
        return "finished"
    if spends(study) and not agreed:
        raise consent_missing(plan)
    return str(study.run(batch=batch).ended)


def consent_missing(plan: Forecast) -> QuaverError:
    """The error where asking costs money and nobody has agreed to it."""
    return QuaverError(
        "this would spend money, and nobody has agreed to it",
        where=", ".join(model["model"] for model in plan.models),
        found=f"{plan.calls - plan.stored:,} calls for {plan.costs}",
        fix="agree with --yes, or set a limit with --budget",
    )


@guarded
@taking(CheckOptions)
def check(data: Any, *, yes: bool = False, **options: Unpack[CheckOptions]) -> Check:
    """Check whether you may use the labels that a model gives to your texts.

    Asks the model about a sample of the texts, with the instruction in other words, with the labels in two
    orders, and more than once; then judges how far the labels stay the same and, where you have true
    labels, how often they are right. It leaves a study file behind to go on from. Whatever was asked is kept:
    the same check again asks nothing.

    Args:
        data: The texts: a table's path, a data frame, or a list.
        yes: Whether to ask a model that costs money.
        **options: Those of `CheckOptions`: ``text``, ``labels``, ``model`` …

    Returns:
        The verdict, the report's path, and the study.

    Raises:
        QuaverError: A column, a label or a model is not there, or the model costs money and neither ``yes``
            nor ``budget`` agrees to it.
    """
    prepared = prepared_check(data, **options)
    run_agreed(prepared.study, agreed=yes or bool(options.get("budget")))
    _ = prepared.verdict, prepared.report  # which is written now
    return prepared
