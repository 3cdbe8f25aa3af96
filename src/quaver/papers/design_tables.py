"""What each part of a prompt does (Atreja et al. 2025): levels, differences, shifts, lengths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from quaver.core.column_names import in_words
from quaver.core.records import Estimate
from quaver.design.prompts.rendering import PromptWriter, messages_of
from quaver.estimation.cells import OUTPUT
from quaver.papers.published_table import (
    KEYS,
    NOTHING,
    Answers,
    Cell,
    StoredAnswers,
    TableRows,
    decimal,
    each_model,
    percentage,
    with_interval,
)
from quaver.report.page.figure_data import PartCost

_WAYS = (("labelled", "drop"), ("all", "wrong"))


def _factors(one: StoredAnswers) -> dict[str, list[str]]:
    """The factors with two levels or more, the first of them the reference."""
    names = dict.fromkeys(name for variant in one.variants for name in variant.factors)
    return {name: levels for name in names if len(levels := one.levels(name)) > 1}


def _effects(one: StoredAnswers, model: str) -> dict[str, Mapping[tuple[str, str, str], Estimate]]:
    """Factor effects by the way that missing labels count: by measure, factor and level."""
    factors = _factors(one)
    mine = one.of(model)
    first = {name: levels[0] for name, levels in factors.items()}
    found: dict[str, Mapping[tuple[str, str, str], Estimate]] = {}
    for way, missing in _WAYS:
        taken = one.take(
            "factor_effects",
            mine,
            by=[],
            factors=list(factors),
            reference=first,
            interactions=[],
            missing=missing,
        )
        found[way] = {(e.measure, e.cell.get("factor", ""), e.cell.get("level", "")): e for e in taken}
    return found


def factor_levels(answers: Answers) -> TableRows:
    """Compliance, accuracy and macro-F1 at each level of each factor."""
    rows, found = [], []
    for one, model in each_model(answers):
        effects = _effects(one, model)
        for factor, levels in _factors(one).items():
            for level in levels:
                prompts = sum(variant.factors.get(factor) == level for variant in one.variants)
                each = [effects["all"].get(("factor_effects_compliance", factor, level))]
                for way, _ in _WAYS:
                    for outcome in ("accuracy", "f1"):
                        each.append(effects[way].get((f"factor_effects_{outcome}", factor, level)))
                found += [(f"{one.name}, {model}, {factor} {level}", e) for e in each if e is not None]
                values = [None if e is None else e.value for e in each]
                rows.append(
                    (
                        *(one.name, model, in_words(factor), level, str(prompts)),
                        *(percentage(value, 2) for value in values[:2]),
                        decimal(values[2]),
                        percentage(values[3], 2),
                        decimal(values[4]),
                    )
                )
    return TableRows(rows, found)


_OUTCOMES = (
    ("compliance", "compliance", "all"),
    ("accuracy, labelled", "accuracy", "labelled"),
    ("accuracy, all", "accuracy", "all"),
    ("macro-F1, labelled", "f1", "labelled"),
    ("macro-F1, all", "f1", "all"),
)


def factor_differences(answers: Answers) -> TableRows:
    """Each level less the first level, with intervals and p values."""
    rows, found = [], []
    for one, model in each_model(answers):
        effects = _effects(one, model)
        for factor, (first, *others) in _factors(one).items():
            for level in others:
                cells: list[Cell] = [one.name, model, in_words(factor), first, level]
                for _, outcome, way in _OUTCOMES:
                    made = effects[way].get((f"factor_effects_{outcome}_difference", factor, level))
                    cells += [*with_interval(made), _p(made)]
                    if made is not None:
                        found.append((f"{one.name}, {model}, {factor} {level}", made))
                rows.append(tuple(cells))
    return TableRows(rows, found)


def _p(one: Estimate | None) -> Cell:
    return NOTHING if one is None else decimal(one.details.get("p_holm", one.details.get("p")))


def label_shift(answers: Answers) -> TableRows:
    """The share of each class at each level, and how far the distribution moves."""
    rows, found = [], []
    for one, model in each_model(answers):
        mine = one.of(model)
        names = {label.code: label.name for label in one.labels.labels}
        for factor, (first, *_) in _factors(one).items():
            moved = one.take("distribution_shift", mine, by=[], between=factor, reference=first)
            for made in moved:
                if made.measure != "distribution_shift_tv" or factor not in made.cell:
                    continue
                found.append((f"{one.name}, {model}, {factor}", made))
                for code in names:
                    cells = _class(made, code)
                    row = (one.name, model, in_words(factor), first, made.cell[factor], names[code], *cells)
                    rows.append(row)
    return TableRows(rows, found)


def _class(made: Estimate, code: str) -> tuple[Cell, ...]:
    before, after = (made.details.get(name, {}).get(code) for name in ("reference_shares", "shares"))
    if before is None or after is None:
        return (NOTHING,) * 4 + (*with_interval(made), _p(made))
    return (
        percentage(before, 2),
        percentage(after, 2),
        decimal(100 * (after - before), 2),
        percentage(None if not before else after / before - 1),
        *(*with_interval(made), _p(made)),
    )


def prompts(answers: Answers) -> TableRows:
    """Every combination of the prompt's parts, a row each."""
    columns = list(dict.fromkeys(name for one in answers for name in _factors(one)))
    rows = []
    for one, model in each_model(answers):
        mine = one.of(model)
        each = {
            (measure, missing): _by_variant(one, mine, measure, missing)
            for measure in ("accuracy", "f1")
            for missing in ("drop", "wrong")
        }
        labelled = {e.cell.get("variant"): e.value for e in one.points("compliance", mine, by=["variant"])}
        for variant in one.variants:
            if variant.id not in labelled:
                continue
            levels = [variant.factors.get(name, NOTHING) for name in columns]
            rows.append(
                (
                    *(one.name, model, *levels, percentage(labelled[variant.id])),
                    *(
                        percentage(each["accuracy", "drop"].get(variant.id)),
                        decimal(each["f1", "drop"].get(variant.id)),
                    ),
                    *(
                        percentage(each["accuracy", "wrong"].get(variant.id)),
                        decimal(each["f1", "wrong"].get(variant.id)),
                    ),
                )
            )
    return TableRows(rows, columns=columns)


def _by_variant(
    one: StoredAnswers, frame: pl.DataFrame, measure: str, missing: str
) -> dict[str, float | None]:
    taken = one.points(measure, frame, by=["variant"], missing=missing)
    return {e.cell.get("variant", ""): e.value for e in taken if e.measure in ("accuracy", "f1_macro")}


def lengths(answers: Answers) -> TableRows:
    """Prompt and answer length at each level, their change in per cent, and the money for 1,000 calls."""
    rows = []
    for one in answers:
        fixed = _fixed_lengths(one)
        parts = {(part.factor, part.level): part for part in one.part_costs()}
        for factor, levels in _factors(one).items():
            first = _measured(parts.get((factor, levels[0])))
            base = _mean(fixed, one, factor, levels[0])
            for level in levels:
                now, own = _measured(parts.get((factor, level))), _mean(fixed, one, factor, level)
                rows.append(
                    (
                        *(one.name, in_words(factor), level, decimal(own, 0), _change(own, base)),
                        *(
                            cell
                            for at in (0, 1)
                            for cell in (decimal(now[at], 1), _change(now[at], first[at]))
                        ),
                        *(decimal(now[2], 4), _change(now[2], first[2])),
                    )
                )
    return TableRows(rows)


def _fixed_lengths(one: StoredAnswers) -> dict[str, int]:
    """The words of each prompt beside the item's text, as the paper counts them."""
    item = one.study.experiment.items[0]
    found = {}
    for variant in one.variants:
        shown = sum(len(message.content.split()) for message in messages_of(variant, one.labels, item))
        found[variant.id] = shown - len(PromptWriter(variant, one.labels).text(item).split())
    return found


def _mean(fixed: Mapping[str, int], one: StoredAnswers, factor: str, level: str) -> float | None:
    some = [fixed[variant.id] for variant in one.variants if variant.factors.get(factor) == level]
    return sum(some) / len(some) if some else None


def _measured(part: PartCost | None) -> tuple[float | None, float | None, float | None]:
    """Tokens read and written for a call, and dollars for a thousand."""
    if part is None or not part.calls:
        return None, None, None
    read, written = part.prompt_tokens / part.calls, part.completion_tokens / part.calls
    return read or None, written or None, None if part.money is None else 1000 * part.money / part.calls


def _change(now: float | None, before: float | None) -> Cell:
    return percentage(None if now is None or not before else now / before - 1)


def overall(answers: Answers) -> TableRows:
    """Compliance, accuracy and macro-F1 of each model, over all prompts: table 3 and figure 2."""
    rows = []
    for one, model in each_model(answers):
        mine = one.of(model)
        cells = [percentage(one.points("compliance", mine, by=[])[0].value)]
        for _, missing in _WAYS:
            taken = one.points("f1", mine, by=[], missing=missing)
            cells.append(decimal(one.points("accuracy", mine, by=[], missing=missing)[0].value))
            cells.append(decimal(next((e.value for e in taken if e.measure == "f1_macro"), None)))
        rows.append((one.name, model, *cells))
    return TableRows(rows)


def data_sets(answers: Answers) -> TableRows:
    """How many texts, prompts, models and answers each data set has, and of which classes the texts are."""
    rows: list[tuple[Cell, ...]] = []
    total = 0
    for one in answers:
        texts = one.study.experiment.items
        prompts = one.frame["variant"].n_unique()
        total += one.frame.height
        counts = (prompts, len(one.models), one.frame.height)
        rows.append((f"{one.name} ({len(one.labels.codes)})", "all", str(len(texts)), *map(str, counts)))
        gold = [item.gold for item in texts if item.gold]
        for label in one.labels.labels if gold else ():
            count = str(gold.count(label.code))
            rows.append((f"{one.name} ({len(one.labels.codes)})", label.name, count, *(NOTHING,) * 3))
    rows.append(("all", "all", NOTHING, NOTHING, NOTHING, str(total)))
    return TableRows(rows)


def raw_outputs(answers: Answers, items: Sequence[str] = ()) -> TableRows:
    """Answers as they were written, and whether they comply: the paper's table 8 and figure 3."""
    rows: list[tuple[Cell, ...]] = []
    for one in answers:
        factors = list(_factors(one))
        written = one.raw.with_columns(pl.col("status", "reason", *KEYS[:4]).cast(pl.String))
        if items:
            some = written.filter(pl.col("item").is_in(list(items)))
        else:
            failed = written.filter(pl.col("status") != "valid")
            some = failed.unique(["model", "status", "reason"], keep="first", maintain_order=True)
        levels = {v.id: ", ".join(v.factors.get(name, NOTHING) for name in factors) for v in one.variants}
        for row in some.iter_rows(named=True):
            status = "valid" if row["status"] == "valid" else row["reason"] or row["status"]
            output = " ".join((row[OUTPUT] or "").split())
            shown = output if len(output) <= _SHOWN else output[:_SHOWN] + "…"
            rows.append((one.name, row["model"], row["item"], levels.get(row["variant"], ""), shown, status))
    few = "One for each model and way of not complying; --item ID shows all of an item."
    return TableRows(rows, notes=[] if items else [few])


_SHOWN = 200


def prompt_texts(answers: Answers) -> TableRows:
    """Every prompt in full, with a mark where the text goes: the paper's table 10."""
    rows = []
    for one in answers:
        item = one.study.experiment.items[0]
        for variant in one.variants:
            text = "\n".join(message.content for message in messages_of(variant, one.labels, item))
            own = PromptWriter(variant, one.labels).text(item)
            rows.append(
                (one.name, " ".join(variant.factors.values()) or variant.id, text.replace(own, "⟨text⟩"))
            )
    return TableRows(rows)
