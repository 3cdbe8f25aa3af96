"""A study's annotation frame: made of what is stored, kept, and made anew where it is no longer true."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import polars as pl

from quaver.collect.store.response_store import Store
from quaver.core.annotations import ANNOTATION_COLUMNS, EVIDENCE_COLUMNS, FIELD, GOLD_COLUMNS, misfit
from quaver.core.label_values import NO_LABELS, TaskField, falling_under, fields_in, lineages, quotes, tree_of
from quaver.core.number_format import enumeration, text_of
from quaver.core.records import JOINED, OF_SETS, SPLIT, Item
from quaver.core.replaced_file import replacing
from quaver.design.calls.experiment import Experiment
from quaver.design.items.item_labels import marked_spans
from quaver.design.items.text_parts import joined_label, joins_of, parts_of
from quaver.design.prompts.rendering import PromptWriter
from quaver.errors import QuaverError, StoreError
from quaver.gold.gold_draw import chance_of, declared_draw, with_gold
from quaver.models.local.extras import require
from quaver.score.annotation import Annotator, annotate
from quaver.score.parsing.evaluator import Evaluator
from quaver.study.sources.kept_results import mark_in
from quaver.study.sources.study_source import StudySource


def annotations_of(study: StudySource) -> pl.DataFrame:
    """The annotation frame: the source's own, else the one that was kept, scored anew where outdated."""
    try:
        return scan(study).collect()
    except (OSError, pl.exceptions.PolarsError):
        if study.annotations is not None:
            raise
        return rescore(study)  # what was kept is damaged, and nothing is lost with it


def scan(study: StudySource) -> pl.LazyFrame:
    """The annotation frame, to be read as it is needed: memory does not grow with its rows."""
    if study.annotations is not None:
        return with_gold_of(study, study.annotations).lazy()
    kept = _kept(study)
    return rescored(study) if kept is None else kept


def first_evaluator(study: StudySource, frame: pl.DataFrame) -> str:
    """The first of the study's evaluators that has annotations; of a frame without any of them, its own."""
    there = frame["evaluator"].cast(pl.String).unique(maintain_order=True).to_list()
    own = [evaluator.title for evaluator in study.spec.evaluators if evaluator.title in there]
    return (own or there)[0]


def rescore(study: StudySource, evaluators: Sequence[str] | None = None) -> pl.DataFrame:
    """Read the stored answers with evaluators, the study's own by default, and keep the annotation frame."""
    return rescored(study, evaluators).collect()


def rescored(study: StudySource, evaluators: Sequence[str] | None = None) -> pl.LazyFrame:
    """A lazy frame of the annotations, read as they are needed."""
    if evaluators is not None and not evaluators:
        raise QuaverError(
            "no evaluator is named",
            where="evaluators",
            expected="one name or more, or None for the study's own",
            found="none",
        )
    with study.answers() as store:
        _check_placed(study, store)
        annotator, mark = _annotator(study, store, evaluators), mark_in(study, store)
        cut = study.experiment.in_parts is not study.experiment
        frame = joined(study, annotate(store.read(), annotator)) if cut or store.read_only else None
        if not store.read_only:
            store.note("annotations", "")  # until they are there
            with replacing(study.files.annotations) as part:
                if frame is None:
                    annotate(store.read(), annotator, part)
                else:
                    frame.collect().write_parquet(part)
            frame = scan_kept(study.files.annotations)
        store.note("annotations", mark if evaluators is None else f"{mark} {json.dumps([*evaluators])}")
    assert frame is not None
    return frame


def read_in_parts(study: StudySource) -> pl.LazyFrame:
    """The annotations of what was asked: of a text that was cut a row for each part."""
    with study.answers() as store:
        return annotate(store.read(), _annotator(study, store))


def _annotator(study: StudySource, store: Store, evaluators: Sequence[str] | None = None) -> Annotator:
    of = readable(study, study.plugins.follow_ups(evaluators))
    design = _design(study.experiment, study.plugins.evaluators(evaluators), of, has_texts=study.has_texts)
    gold = None
    if has_sample(study):
        places = [at for at, item in enumerate(study.experiment.items) for _ in item.parts or [()]]
        gold = _gold_columns(study)[places]
    return Annotator(**design, gold=gold, served=store.names_servers())


def joined(study: StudySource, frame: pl.LazyFrame) -> pl.LazyFrame:
    """Annotations with a row for each text and split, in place of those of the parts.

    A text of which a part has no answer yet has none. It has no probabilities; its confidence is the mean of
    those of the parts with its label, and its quote that of the first of these in which one was placed.
    """
    experiment, split, schema = study.experiment, study.spec.items.split, frame.collect_schema()
    if experiment.in_parts.below:
        frame = _with_last(experiment, frame)
    if split is None or experiment.in_parts.joins or not any(item.parts for item in experiment.items):
        return frame
    kinds = pl.Schema(schema)
    if experiment.splits:
        kinds[SPLIT] = pl.Categorical()
    keys = [*(name for name in (*_ASKED, FIELD) if name in schema), "item"]
    named = frame.with_columns(pl.col(pl.Categorical).cast(pl.String)).join(_splits(experiment), on="variant")
    asked = named.join(_parts(experiment), on=["item", "#split"]).drop("item", "variant")
    rows = asked.rename({"#item": "item", "#variant": "variant"}).collect()
    whole, parts = rows.filter(pl.col("#of") == 1), rows.filter(pl.col("#of") > 1)
    same = [name for name in kinds if name not in {*keys, *_ANY, *_DIFFERING}]
    texts = parts.group_by(keys, maintain_order=True).agg(
        pl.col("#of", "#split", *same).first(), pl.col(_ANY).any(), pl.col(_READ).sort_by("#number")
    )
    texts = texts.filter(pl.col("label").list.len() == pl.col("#of"))
    joins = joins_of(split, experiment.labels, study.positions)
    labels = {field.name: field.labels for field in fields_in(experiment.labels)} or {"": experiment.labels}
    found = []
    for row in texts.iter_rows(named=True):
        field = row.get(FIELD, "")
        found.append(joined_label(joins[row["#split"], field], row["label"], row["status"], labels[field]))
    texts = texts.with_columns(*pl.DataFrame(found, schema=dict.fromkeys(_READ, pl.String), orient="row"))
    sets = [name for name, some in labels.items() if some.level in OF_SETS]
    is_set = (pl.col(FIELD) if FIELD in schema else pl.lit("")).is_in(sets)
    own = parts.join(texts.select(*keys, pl.col("label").alias("#label")), on=keys)
    own = own.filter(pl.col("#label").is_not_null() & (is_set | (pl.col("label") == pl.col("#label"))))
    quoted = [name for name in EVIDENCE_COLUMNS if name in schema]
    if quoted:
        own = own.with_columns(
            pl.when("#shown").then(pl.col("quote_start", "quote_end") + pl.col("#begin")),
            pl.col("text_length") + pl.col("#rest"),
        ).sort(pl.col("quote_start").is_null(), "#number")
    of_own = own.group_by(keys).agg(pl.col("confidence").mean(), pl.col(quoted).first())
    texts = _with_marks(study, texts.join(of_own, on=keys, how="left", maintain_order="left"))
    return pl.concat([whole, texts], how="diagonal").select(*kinds).cast(kinds).lazy()


def _with_last(experiment: Experiment, frame: pl.LazyFrame) -> pl.LazyFrame:
    """Annotations with a row for each text and first call, that of the last call that follows from it.

    Of labels that are asked for level by level it has the one that was reached; where that call has none, the
    reason says at which level. Where the model joins the labels of a text's parts, it has the model's, and
    where this is not asked since the answer about a part is an error, this error. A text of which a call has
    no answer yet has no row.
    """
    kinds, lines = frame.collect_schema(), lineages(tree_of(experiment.labels))
    places = {code: f"level {len(line) + 1}, under “{code}”" for code, line in lines.items()}
    tops = [(name, *top) for name, top in experiment.in_parts.tops.items()]
    named = pl.LazyFrame(tops, schema=["variant", "#top", "#under"], orient="row")
    texts = frame.with_columns(pl.col(pl.Categorical).cast(pl.String))
    rows = texts.join(named, on="variant", maintain_order="left").drop("variant").rename({"#top": "variant"})
    if experiment.in_parts.joins:
        rows = rows.join(_parts(experiment), on="item", maintain_order="left").filter(
            (pl.col("#of") == 1) | (pl.col("#under") == JOINED) | (pl.col("status") == "error")
        )
        rows = rows.with_columns(item="#item").unique([*_ASKED, "item"], keep="first", maintain_order=True)
        return rows.select(*kinds).cast(kinds)
    leads = pl.col("label").is_in([*falling_under(experiment.labels)]).fill_null(value=False)
    place = pl.col("#under").replace_strict(places, default="level 1")
    why = pl.concat_str(place, "reason", separator=": ", ignore_nulls=True)
    # the last answer on the way down: those before lead on, and an evaluator beside may read them otherwise
    whole = rows.filter(~leads).unique([*_ASKED, "item"], keep="first", maintain_order=True)
    reason = pl.when(pl.col("label").is_null()).then(why).otherwise("reason")
    return whole.with_columns(reason=reason, confidence=None).select(*kinds).cast(kinds)


_ASKED: Final = ("model", "variant", "decoding", "repeat", "evaluator")
_ANY: Final = ("truncated", "looping")
_READ: Final = ("label", "status", "reason")
_DIFFERING: Final = frozenset(
    [*_READ, "confidence", "probabilities", "label_coverage", "mass_coverage", *EVIDENCE_COLUMNS]
)
"""The columns in which the parts of a text differ."""


def _splits(experiment: Experiment) -> pl.LazyFrame:
    """Each asked variant with its splits, its name with each, and whether it shows a text as it is."""
    is_shown = re.compile(rf"\{{\{{\s*{re.escape(experiment.cut)}\s*\}}\}}")
    rows = []
    for variant in experiment.variants:
        number, asked = experiment.splits.get(variant.id, (0, variant.id))
        rows.append(
            {
                "variant": asked,
                "#split": number,
                "#variant": variant.id,
                "#shown": bool(is_shown.search(variant.text)),
                **({SPLIT: variant.factors[SPLIT]} if experiment.splits else {}),
            }
        )
    return pl.LazyFrame(rows)


def _parts(experiment: Experiment) -> pl.LazyFrame:
    """What each split asks about: of which text, where it begins, and what the text has beside it."""
    numbers, rows = {number for number, _ in experiment.splits.values()} or {0}, list[tuple[Any, ...]]()
    for item in experiment.items:
        length = len(str(item.fields.get(experiment.cut, "")))
        for part, (begin, end, *of) in zip(parts_of(item, ""), item.parts or [(0, length)], strict=True):
            rows += [(part.id, item.id, number, begin, length - (end - begin)) for number in of or numbers]
    names = {"item": pl.String, "#item": pl.String} | dict.fromkeys(["#split", "#begin", "#rest"], pl.Int32)
    of_split = ["#item", "#split"]
    return pl.LazyFrame(rows, schema=names, orient="row").with_columns(
        pl.len().over(of_split).alias("#of"), pl.int_range(pl.len()).over(of_split).alias("#number")
    )


def _with_marks(study: StudySource, texts: pl.DataFrame) -> pl.DataFrame:
    """Labels of whole texts, with the places in these of the words that people marked."""
    marked = {field.name: field for field in fields_in(study.experiment.labels) if field.marked}
    if not marked or not study.has_texts:
        return texts
    from quaver.score.parsing.quotes import QuotedText  # of an extra

    text, items = _texts(study.experiment), study.experiment.items
    places, found = {item.id: place for place, item in enumerate(items)}, []
    for variant, item, field, label in texts.select("variant", "item", FIELD, "label").iter_rows():
        about = marked.get(field) if label else None
        words = _marked(items[places[item]], about) if about else ""
        found.append(QuotedText(text(variant, places[item])).place(words)[1:3])
    names = dict.fromkeys(["marked_start", "marked_end"], pl.Int32)
    return texts.with_columns(*pl.DataFrame(found, schema=names, orient="row"))


def _check_placed(study: StudySource, store: Store) -> None:
    """See that some stored answer belongs to the study: what is kept is not replaced by nothing.

    Raises:
        StoreError: None does, since the models or the design are others than when they were asked.
    """
    unplaced = store.calls.unplaced()
    if store.calls.answered() or not unplaced:
        return
    changed = [f"“{name}”" for name in changed_models(study, store)]
    raise StoreError(
        "none of the stored answers belongs to the study as it is now",
        where=str(study.files.responses),
        expected="answers of the models, prompts and items that the study names",
        found=f"{unplaced:,} answers"
        + (f" of {enumeration(changed)} before its code or options changed" if changed else ""),
        fix="undo the change to measure them; `quaver run STUDY` asks again; nothing was changed now",
    )


def changed_models(study: StudySource, store: Store) -> list[str]:
    """The study's models that answered only under another identity: their code or options have changed."""
    known: dict[str, set[str]] = {}
    for model, identity in store.rows("SELECT DISTINCT model, identity FROM sources WHERE reused IS NULL"):
        known.setdefault(model, set()).add(identity)
    now = {name: facts.get("identity") for name, facts in study.served.items()}
    return [name for name, identity in now.items() if name in known and identity not in known[name]]


def gold_labels(study: StudySource) -> list[str | None]:
    """The items' gold labels in the study's order, with the gold sample as it is now."""
    return _gold_columns(study)["gold"].cast(pl.String).to_list()


def _gold_columns(study: StudySource) -> pl.DataFrame:
    """The items' columns about gold labels, in the study's order, with the gold sample as it is now."""
    rows = [(item.id, item.gold) for item in study.experiment.items]
    items = pl.DataFrame(rows, schema={"item": pl.String, "gold": pl.String}, orient="row")
    frame = with_gold_of(study, items)
    return frame.select(pl.col(name).cast(ANNOTATION_COLUMNS[name]) for name in GOLD_COLUMNS if name in frame)


def with_gold_of(study: StudySource, frame: pl.DataFrame) -> pl.DataFrame:
    """A frame with the gold sample as it is now; the same frame where there is none."""
    if not has_sample(study):
        return frame
    sample, items = study.gold_sample, study.experiment.items
    known, settled, apart = {item.id: item.gold for item in items}, sample.settled.gold, sample.apart
    if study.has_spans:
        taken = apart | dict.fromkeys(sample.drawn) | settled
        spans = [cell and cell.replace(NO_LABELS, "") for cell in taken.values()]
        if "marked_spans" in frame.columns:
            own = (
                pl.col("item")
                .cast(pl.String)
                .replace_strict([*taken], spans, default=pl.col("marked_spans"), return_dtype=pl.String)
            )
            frame = frame.with_columns(marked_spans=own)
        settled, apart = (
            dict(zip(some, study.labels_of(some.values()), strict=True)) for some in (settled, apart)
        )
    if not sample.draw.is_empty() or (spec := study.gold_spec) is None or not spec.is_sample:
        return with_gold(frame, known, sample.draw, settled, apart)
    column = spec.probability
    chances = [chance_of(item.fields, column, item.id) for item in items] if column else None
    gold = {item: label for item, label in known.items() if label is not None}
    return with_gold(frame, known, declared_draw([*known], gold, chances), gold | apart, apart)


def has_sample(study: StudySource) -> bool:
    """Whether gold labels were drawn, taken back, or came with a table that says how they were drawn."""
    gold = study.gold_spec
    return not study.gold_sample.is_empty or (gold is not None and gold.is_sample)


def annotator_of(
    study: StudySource,
    evaluators: Mapping[str, Evaluator],
    of: Mapping[str, str] | None = None,
    design: Experiment | None = None,
) -> Annotator:
    """What reads the answers of a study's design, or of another; ``of`` names follow-ups that are read."""
    return Annotator(**_design(design or study.experiment, evaluators, of, has_texts=study.has_texts))


def _design(
    experiment: Experiment,
    evaluators: Mapping[str, Evaluator],
    of: Mapping[str, str] | None = None,
    *,
    has_texts: bool,
) -> dict[str, Any]:
    """The design's part of an annotator's arguments."""
    experiment = experiment.in_parts
    return {
        "conditions": [
            replace(condition, follow_up="") if experiment.is_level(condition) else condition
            for condition in experiment.conditions
        ],
        "items": [Item(item.id, {}, item.gold, item.groups, item.golds) for item in experiment.items],
        "marks": {
            field.name: [_marked(item, field) for item in experiment.items]
            for field in fields_in(experiment.labels)
            if field.marked
        },
        "variants": experiment.every_variant,
        "labels": experiment.labels,
        "evaluators": evaluators,
        "decodings": experiment.decodings,
        "of": of or {},
        "texts": _texts(experiment) if has_texts and quotes(experiment.labels) else None,
    }


def _marked(item: Item, field: TaskField) -> str:
    """The words that people marked in an item's text; of spans the spans, as JSON."""
    if not field.spans:
        return text_of(item.fields.get(field.marked))
    spans = marked_spans(item, field)
    return "" if spans is None else json.dumps(spans)


def _texts(experiment: Experiment) -> Callable[[str, int], str]:
    """What makes the text of an item under a variant, as models are sent it."""
    require("evidence", "rapidfuzz")
    writers: dict[str, PromptWriter] = {}
    known = {variant.id: variant for variant in experiment.variants}

    @lru_cache(maxsize=_TEXTS)
    def text(variant: str, item: int) -> str:
        if variant not in writers:
            writers[variant] = PromptWriter(known[variant], experiment.labels)
        return writers[variant].text(experiment.items[item])

    # variants with the same template show an item in the same text
    alike: dict[str, str] = {}
    first = {variant.id: alike.setdefault(variant.text, variant.id) for variant in experiment.variants}
    return lambda variant, item: text(first[variant], item)


_TEXTS: Final = 20_000
"""As many texts are kept for quotes to be placed in."""


def _kept(study: StudySource) -> pl.LazyFrame | None:
    """The frame as it is kept; None where it cannot be read, or answers came in or the study changed."""
    if not study.files.responses.exists():
        return None
    with study.files.store() as store:
        if not is_current(study, store):
            return None
    return kept_frame(study)


def kept_frame(study: StudySource) -> pl.LazyFrame | None:
    """The frame that is kept, of whichever answers; None where it is missing or damaged."""
    try:
        return scan_kept(study.files.annotations)
    except (OSError, pl.exceptions.PolarsError):  # nothing is lost with it
        return None


def scan_kept(kept: Path) -> pl.LazyFrame:
    """The annotations that are kept in a file, to be read as they are needed."""
    pl.read_parquet_schema(kept)
    frame = pl.scan_parquet(kept)
    if problem := misfit(frame.collect_schema()):
        raise pl.exceptions.SchemaError(problem)
    keys = pl.col("model", "variant", "decoding", "item", "repeat", "evaluator", "status")
    if any(frame.select(keys.null_count()).collect().row(0)):
        raise pl.exceptions.SchemaError("a row that does not say of which answer it is")
    return frame


def is_current(study: StudySource, store: Store) -> bool:
    """Whether the annotation frame that is kept is that of the answers and the study as they are now."""
    return (store.noted("annotations") or "").startswith(mark_in(study, store))


def readable(study: StudySource, of: Mapping[str, str]) -> Mapping[str, str]:
    """The follow-ups that evaluators read, all of them in the study."""
    known = study.experiment.follow_ups
    for evaluator, name in of.items():
        if name not in known:
            raise StoreError(
                f"the evaluator {evaluator!r} reads calls that this study has not made",
                where=str(study.folder),
                expected=f"the follow-up {name!r}",
                found=", ".join(known) or "no follow-ups",
                fix=f"add {evaluator} to the study's evaluators, then: `quaver run STUDY`",
            )
    return of
