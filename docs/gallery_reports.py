"""The gallery's reports and bundles, made from those in ``docs/gallery`` whenever the site is built.

A bundle holds the answers, so its report is always today's report, and the gallery shows no old one.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ruamel.yaml import YAML

from quaver.bundles.derived_files import made_with, write_derived, write_json
from quaver.collect.store.response_store import Store
from quaver.core.registry import names
from quaver.design.calls.lock_file import design_digest
from quaver.errors import SpecError, StoreError
from quaver.study.analysis.annotation_frame import rescored
from quaver.study.sources.archive import Opened, extract, members_in, pack
from quaver.study.sources.bundle_source import FORM, PACKED, Bundle
from quaver.study.sources.opening import open_source

GALLERY = Path(__file__).parent / "gallery"


def pages() -> Iterator[tuple[str, str | bytes]]:
    """Each report and each bundle that holds it: its path in the site and its content."""
    for bundle in sorted(GALLERY.glob("*.quaver.zip")):
        reports, packed = made_again(bundle)
        for name, report in reports.items():
            own = f"{bundle.name.removesuffix('.quaver.zip')}.html" if name == "report.html" else name
            yield f"gallery/{own}", report
        yield f"gallery/{bundle.name}", packed


def _renew_store(path: Path) -> None:
    """Put a bundle's answers into the tables of today's stores."""
    part = path.with_name("renewed.db")
    Store(part).close()
    with closing(sqlite3.connect(part)) as db:
        db.execute("ATTACH ? AS former", (str(path),))
        tables = db.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            columns, former = (
                [name for _, name, *_ in db.execute(f"PRAGMA {schema}.table_info({table})")]
                for schema in ("main", "former")
            )
            shared = ", ".join(name for name in columns if name in former)
            if shared:
                db.execute(f"DELETE FROM main.{table}")
                db.execute(f"INSERT INTO main.{table} ({shared}) SELECT {shared} FROM former.{table}")
        db.commit()
        db.execute("DETACH former")
        db.execute("PRAGMA journal_mode = DELETE")
        db.execute("VACUUM")
    part.replace(path)


def _renew(folder: Path) -> None:
    """Bring a bundle's design to what a study file can say today, and its labels to what is read today."""
    if (store := folder / "responses.db").exists():
        _renew_store(store)
    path = folder / "study.lock.json"
    lock = json.loads(path.read_text(encoding="utf-8"))
    while True:
        write_json(path, lock)
        try:
            source = Bundle(folder, Opened({"files": {}}, (), ""), folder)
            break
        except StoreError as failed:
            error = failed.__cause__
            if not isinstance(error, SpecError) or "unknown key" not in error.problem:
                raise
            *parents, key = str(error.where).split(".")
            part = lock["study"]
            for one in parents:
                part = part[int(one) if one.isdecimal() else one]
            del part[key]
    _forget_measures(folder, lock)
    for file in folder.glob("*.yaml"):  # what it leaves out has today's defaults
        lock["study"] = open_source(file, folder).spec.model_dump(mode="json")
    write_json(path, lock)
    source = Bundle(folder, Opened({"files": {}}, (), ""), folder)
    for variant in lock["variants"]:
        variant.pop("definitions", None)
        for name in ("distance", "distance_band"):
            variant["covariates"].pop(name, None)
        for origin in variant["origin"].values():
            origin.pop("meaning", None)
            if isinstance(origin.get("parts"), dict):
                origin["parts"] = [*origin["parts"]]
    lock["evaluators"] = source.plugins.rules()
    write_json(path, lock | {"digest": design_digest(lock)})
    if source.has_answers:
        source = Bundle(folder, Opened({"files": {}}, (), ""), folder)
        rescored(source).collect().write_parquet(folder / "annotations.parquet")


def _forget_measures(folder: Path, lock: dict[str, Any]) -> None:
    """Leave out the measures that there no longer are, in the lock and in the study file."""
    there = set(names("measures"))

    def used(one: Any) -> str:
        return str(one if isinstance(one, str) else one["use"])

    lock["study"]["measures"] = [one for one in lock["study"]["measures"] if used(one) in there]
    yaml = YAML()
    for file in folder.glob("*.yaml"):
        document = yaml.load(file.read_text(encoding="utf-8"))
        measures = document.get("measures") or []
        gone = [number for number, one in enumerate(measures) if used(one) not in there]
        for number in reversed(gone):
            del measures[number]
        if gone:
            text = StringIO()
            yaml.dump(document, text)
            file.write_text(text.getvalue(), encoding="utf-8")


@cache  # a server that shows the site while you write builds it again and again
def made_again(bundle: Path) -> tuple[dict[str, str], bytes]:
    """A bundle's report as today's Quaver writes it, with those of its fields, and the bundle with them."""
    with TemporaryDirectory() as home:
        opened, folder = Path(home) / "opened", Path(home) / "packed"
        found = extract(bundle, opened, FORM)
        _renew(opened)
        shutil.copytree(opened, folder)
        source = Bundle(bundle, found, opened)
        facts = json.loads((opened / PACKED).read_text(encoding="utf-8"))
        write_json(folder / PACKED, facts | {"made_with": made_with()})
        write_derived(source, folder)
        about = {name: value for name, value in found.items() if name not in ("files", "bytes")}
        files = members_in(folder)
        pack(Path(home) / "again", files, about)
        pages = {
            name: one.read_text(encoding="utf-8") for name, one in files.items() if name.endswith(".html")
        }
        return pages, (Path(home) / "again").read_bytes()


if __name__ == "__main__":  # make gallery
    for path in sorted(GALLERY.glob("*.quaver.zip")):
        path.write_bytes(made_again(path)[1])
        print(path)
