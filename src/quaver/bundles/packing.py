"""A study packed in one archive, with or without its items' texts."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import polars as pl

from quaver.bundles.derived_files import (
    estimate_differences,
    item_document,
    made_with,
    write_derived,
    write_json,
)
from quaver.bundles.redaction import Texts, covariates, refuse_texts, texts_of
from quaver.bundles.verification import verify
from quaver.collect.store.read_only import copy_store, copy_store_without
from quaver.core.arguments import guarded
from quaver.core.label_values import fields_in
from quaver.core.number_format import count
from quaver.core.records import Estimate
from quaver.core.replaced_file import put_in_place, scratch_folder
from quaver.core.rows import levels_in
from quaver.design.calls.annotation_table import played_columns
from quaver.design.items.item_table import NEAR_DUPLICATES
from quaver.design.items.table_files import read_rows
from quaver.design.prompts.templates import names_in
from quaver.design.spec import ItemsSpec
from quaver.errors import StoreError
from quaver.study.analysis.annotation_frame import rescored
from quaver.study.analysis.field_source import FieldSource, fields_of
from quaver.study.analysis.hidden_clusters import groups_of
from quaver.study.analysis.measured_study import MeasuredStudy
from quaver.study.analysis.study_acceptance import FILE as ACCEPTED
from quaver.study.analysis.study_acceptance import kept_acceptance
from quaver.study.analysis.study_measures import measurable
from quaver.study.collection.study_status import outside_study, status
from quaver.study.gold_sample.coder_sheets import pack_gold
from quaver.study.session import Study
from quaver.study.sources.archive import MANIFEST, Opened, is_archive, members_in, pack
from quaver.study.sources.bundle_source import FORM, PACKED, Bundle, places_in
from quaver.study.sources.outgoing_check import check_outgoing
from quaver.study.sources.study_folder import FIELDS


@guarded
def bundle(
    study: Study, path: str | Path | None = None, *, texts: bool = True, tables: bool = False
) -> tuple[Path, str]:
    """Pack a study: its file, lock, answers, annotations, estimates and report, with checksums.

    Stored answers that are no part of the study are packed too, so that a reviewer finds what was dropped.

    Args:
        study: The study; it is scored, measured and reported anew.
        path: Where the archive goes; ``NAME.quaver.zip`` beside the folder, if left out.
        texts: Whether the items' texts go with it. Without them prompts, examples, raw answers and answers
            that are no part of the study are left out; an answer that quotes an item is withheld, and its
            labels are kept.
        tables: Whether tables of items go with it whole, also the rows and columns that the study does not
            use. Without this, a table that holds any stays behind, and ``items.json`` has what is used.

    Returns:
        The archive's path and digest.

    Raises:
        StoreError: Nothing is stored yet, the archive cannot be written, or what is computed anew from it is
            not what it says.
        QuaverError: An item's text, or a key, would still stand in a file.
    """
    target, digest, _ = pack_study(study, path, texts=texts, tables=tables)
    return target, digest


def pack_study(
    study: Study, path: str | Path | None = None, *, texts: bool = True, tables: bool = False
) -> tuple[Path, str, list[str]]:
    """The archive's path and digest, and a sentence on each thing that was added or left out."""
    study.source.require("owns_folder")
    home = study.folder.resolve()
    target = Path(path) if path else home.with_name(f"{home.name}.quaver.zip")
    if target.is_dir() or (target.is_file() and not is_archive(target)):
        raise StoreError(
            "this file exists already and is not a bundle",
            where=str(target),
            expected="a new file, or a bundle to overwrite",
            fix="name another file, or remove this one",
        )
    if study.source.has_answers:
        rescored(study.source)
    with scratch_folder() as made:
        folder = made / "packed"
        folder.mkdir()
        hidden = _pack_whole(study, folder, tables) if texts else _pack_bare(study, folder)
        about = {"form": FORM, "study": study.spec.name, "texts": texts, "withheld": len(places_in(folder))}
        opened = made / "opened"  # reading a store may change its bytes
        shutil.copytree(folder, opened)
        source = Bundle(target, Opened(about, (), ""), opened)
        estimates = write_derived(source, folder)
        if differing := estimate_differences(study.estimates(), estimates):
            raise _not_reproduced(target, differing)
        files = members_in(folder)
        refuse_texts(files.values(), hidden)
        check_outgoing(files.values(), own=True)
        digest = _packed(target, files, about)
        said = [status(source).outside, *source.facts.get("stayed", ())]
    return target, digest, list(filter(None, said))


def _not_reproduced(target: Path, differences: Sequence[str]) -> StoreError:
    return StoreError(
        "the bundle does not reproduce the study's results, so it was not kept",
        where=str(target),
        expected="annotations and estimates that can be recomputed from it without a difference",
        found="; ".join(differences[:3]),
        fix="your own evaluators and measures must always give the same results, in any process",
    )


def _packed(target: Path, files: Mapping[str, Path], about: Mapping[str, Any]) -> str:
    """Pack, compute everything anew from the archive alone, and keep it where all of it holds."""
    unverified = target.with_name(target.name + ".unverified")
    try:
        digest = pack(unverified, files, about)
        verification = verify(unverified)
        if verification.differs:
            raise _not_reproduced(target, [*verification.changed, *verification.differing])
        put_in_place(unverified, target)
    except OSError as error:
        raise StoreError("the bundle cannot be written", where=str(target), found=str(error)) from error
    finally:
        unverified.unlink(missing_ok=True)
    return digest


def _pack_whole(study: Study, folder: Path, tables: bool) -> Texts:
    """Write all that does not follow from other files of the bundle; no text is to be left out."""
    source = study.source
    used = _used_columns(study)
    stayed = {} if tables else _tables_that_stay(study, used)
    if tables:
        used = used.union(*(item.fields for item in study.experiment.items))
    if source.has_answers and source.files.responses.exists():
        copy_store(source.files.responses, folder / "responses.db")
    if source.files.media.exists():
        shutil.copyfile(source.files.media, folder / source.files.media.name)
    for file in _own_files(study):
        if file not in stayed and not (folder / file.name).exists() and file.name != MANIFEST:
            shutil.copyfile(file, folder / file.name)
    kept = folder / source.files.paraphrases.name
    if not kept.exists() and (former := source.files.read("paraphrases.json")):
        write_json(kept, former)
    frame = study.annotations()
    frame.write_parquet(folder / "annotations.parquet")
    write_json(folder / "study.lock.json", source.lock())
    write_json(folder / "items.json", _item_documents(study, used, frame, copies=False))
    _pack_rest(study, folder, texts=True, stayed=[*stayed.values()])
    return Texts((), (), (), ())


def _pack_bare(study: Study, folder: Path) -> Texts:
    """Pack a study without its items' texts and the prompts that show them; returns the texts."""
    source, frame = study.source, study.annotations()
    kept = covariates(study.spec) | _groups_of_the_verdict(study)
    texts = texts_of(study, kept)
    if source.has_answers:
        withheld = copy_store_without(source.files.responses, folder / "responses.db", texts)
        write_json(folder / "withheld.json", withheld)
    for file in _own_files(study):
        if file.suffix in (".yaml", ".yml") and not texts.in_markup(file.read_text(encoding="utf-8")):
            shutil.copyfile(file, folder / file.name)
    reason = pl.Series("reason", texts.out_of(frame["reason"].to_list()), dtype=pl.String)
    quotes = [pl.lit(None, pl.String).alias(name) for name in frame.columns if name == "quote"]
    frame.with_columns(reason, *quotes).write_parquet(folder / "annotations.parquet")
    lock = source.lock()
    variants = [variant | {"example": [], "examples": []} for variant in lock["variants"]]
    lock |= {"original": [], "variants": variants}
    lock |= {"follow_ups": {}} if study.experiment.in_parts.below else {}
    write_json(folder / "study.lock.json", texts.out_of(lock))
    write_json(folder / "items.json", _item_documents(study, kept, frame, copies=True))
    _pack_rest(study, folder, texts=False, stayed=[])
    refuse_texts(members_in(folder).values(), texts)
    return texts


def _pack_rest(study: Study, folder: Path, *, texts: bool, stayed: list[str]) -> None:
    """The gold sample, accepted labels, and what could not be found out from the other files later."""
    pack_gold(study.source.gold_files, folder, texts=texts)
    for name, source in fields_of(study.source).items():
        own = folder / FIELDS / name if name else folder
        if accepted := kept_acceptance(source, measurable(source)):
            own.mkdir(parents=True, exist_ok=True)
            write_json(own / ACCEPTED, accepted)
    prices = {name: price and asdict(price) for name, price in study.source.prices.items()}
    known = {"made_with": made_with(), "prices": prices, "outside": outside_study(study.source)}
    write_json(folder / PACKED, known | {"stayed": stayed})


def _used_columns(study: Study) -> set[str]:
    """The columns that the study uses: for prompts, labels, groups or conclusions."""
    experiment, spec = study.experiment, study.spec
    used = covariates(spec) | {*experiment.labels.options} | _groups_of_the_verdict(study)
    used |= {field.marked for field in fields_in(experiment.labels)}
    if spec.annotations is None:
        used |= {str(spec.items.id), *spec.items.media.values()}
    else:
        used |= {name for _, name in played_columns(spec.annotations)}
    there = {*experiment.items[0].fields}
    for variant in experiment.variants:
        for template in (variant.text, variant.layout, variant.system, variant.instruction, variant.postfix):
            names = names_in(template)
            used |= names
            if "item" in names:  # as item["a column"], or all of them in turn
                used |= {name for name in there if name in template} or there
    return used


def _groups_of_the_verdict(study: Study) -> set[str]:
    """The columns of whose groups the verdict speaks."""
    groups = set[str]()
    if study.annotations().is_empty():
        return groups
    for recommendation in study.verdict().recommendations:
        groups.update(levels_in((*recommendation.exceptions, *recommendation.unvouched), "group"))
    return groups


def _tables_that_stay(study: Study, used: Collection[str]) -> dict[Path, str]:
    """The tables that hold more than the study uses, and what, in words."""
    stayed = {}
    for table in _tables(study):
        path = study.source.positions.path_of(table.source)
        if not path.is_file():
            continue
        rows = read_rows(path, table.encoding, table.separator, sheet=table.sheet, quote=table.quote)
        columns = [name for name in (rows[0] if rows else ()) if name not in used]
        spare = len(rows) - len(study.experiment.items) if table is study.spec.items else 0
        more = [count(spare, "row")] if spare > 0 else []
        if columns:
            more.append(f"the column{'s' * (len(columns) > 1)} {', '.join(columns)}")
        if more:
            why = f"since the study does not use all of it ({'; '.join(more)})"
            stayed[path] = f"{path.name} was left out, {why}"
    for path in map(study.source.positions.path_of, study.spec.task.tables_of_spans):
        others = set[str]()
        for row in read_rows(path):
            others.update(row.text(name) for name in row if name.casefold() == "id")
        others.difference_update(item.id for item in study.experiment.items)
        if others:
            of_others = count(len(others), "other text")
            stayed[path] = f"{path.name} was left out, since it has spans of {of_others}"
    return stayed


def _tables(study: Study) -> list[Any]:
    """The study file's entries for its tables: items or annotations, and examples."""
    spec = study.spec.annotations or study.spec.items
    examples = spec.examples if isinstance(spec, ItemsSpec) else None
    return [spec] if examples is None else [spec, examples]


def _own_files(study: Study) -> list[Path]:
    """The study file, its tables and paraphrases.json, where there are such."""
    positions = study.source.positions
    names = [*(table.source for table in _tables(study)), *study.spec.task.tables_of_spans]
    files = [positions.path, *map(positions.path_of, names), study.source.files.paraphrases]
    return [file for file in files if file is not None and file.is_file()]


def _item_documents(
    study: Study, kept: Collection[str], frame: pl.DataFrame, *, copies: bool
) -> list[dict[str, Any]]:
    """The items with some of their fields, and as numbers the groups whose items are labelled alike.

    Texts that are nearly the same are such a group, which is found again where the texts are there.
    """
    items = study.experiment.items
    documents = [item_document(replace(item, media=()) if copies else item, kept) for item in items]
    for column in _grouping_columns(study, frame):
        if column in kept or column in items[0].groups or (column == NEAR_DUPLICATES and not copies):
            continue
        numbers: dict[Any, str] = {}
        for document, group in zip(documents, groups_of(study.source, column), strict=True):
            number = numbers.setdefault(group, str(len(numbers) + 1))
            document["fields"][column] = None if group is None else number
    return documents


def _grouping_columns(study: Study, frame: pl.DataFrame) -> list[str]:
    """The columns whose groups are labelled alike, though the study does not declare them."""
    clustered = list[Estimate]()
    if frame.is_empty():
        return []
    for part in fields_of(study.source).values():
        own = part.rows(frame) if isinstance(part, FieldSource) else frame
        screened = MeasuredStudy(part, measurable(part, own)).clusters
        clustered += (cluster for cluster in screened if cluster.details.get("clustered"))
    return levels_in(clustered, "column")
