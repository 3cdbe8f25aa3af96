"""``quaver verify``: make again what follows from a bundle's answers, and compare it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quaver.cli.console import say, screen
from quaver.cli.study_options import studies
from quaver.errors import QuaverError

if TYPE_CHECKING:
    from quaver.bundles.verification import Verification
    from quaver.many_studies.packed_collection import CollectionVerification
    from quaver.study.study_freeze import Frozen


def command(
    path: Annotated[Path, typer.Argument(metavar="BUNDLE", autocompletion=studies)],
    digest: Annotated[str | None, typer.Option(metavar="SHA256")] = None,
    frozen: Annotated[str | None, typer.Option(metavar="SHA256")] = None,
) -> None:
    """Make again what follows from a bundle's answers, and compare it.

    Shows what was made again and compared, what was not, and what nobody can find out from an archive. Exits
    with 1 if anything differs.

    Options:
      path: The bundle.
      digest: The archive's SHA-256 as the authors published it.
      frozen: The digest that the authors published when they froze the design.

    Examples:
      quaver verify study.quaver.zip
      quaver verify study.quaver.zip --digest 9a41…
      quaver verify study.quaver.zip --frozen 3f0c9a
    """
    from quaver.bundles.verification import verify
    from quaver.many_studies.collection_file import is_packed

    if is_packed(path):
        _verify_collection(path, digest, frozen)
        return
    found = verify(path, digest=digest, frozen=frozen)
    _say_found(found)
    if found.unknown:
        say("Nobody can find out from this archive:")
    for line in found.unknown.values():
        say(f"  {line}")
    say(f"SHA-256 {found.digest}")
    if not found.holds:
        raise typer.Exit(1)


def _verify_collection(path: Path, digest: str | None, frozen: str | None) -> None:
    """Every study of a collection's bundle, and what is pooled over them."""
    from quaver.many_studies.packed_collection import verify_collection

    if frozen is not None:
        raise QuaverError(
            "a design is frozen study by study",
            where="--frozen",
            found=f"{path}, a collection",
            fix="unpack the archive, and verify the study's own bundle",
        )
    found = verify_collection(path, digest=digest)
    for name in found.changed:
        say(f"Changed: {name}")
    for name, one in found.studies.items():
        say(f"{name}:")
        _say_found(one)
    for line in found.differing:
        say(f"Differs: {line}")
    if not found.changed:
        say(f"{found.pooled:,} pooled estimates computed again, {len(found.differing):,} differ.")
    _say_compared(found)
    say(f"SHA-256 {found.digest}")
    if not found.holds:
        raise typer.Exit(1)


def _say_found(found: Verification) -> None:
    """What came of one study's bundle."""
    for line in found.departures:
        say(line)
    for name in found.changed:
        say(f"Changed: {name}")
    for line in found.differing:
        say(f"Differs: {line}")
    if not found.changed:
        withheld = f" ({found.withheld:,} answers are withheld)" if found.withheld else ""
        screen.print(
            f"{found.annotations:,} annotations read again{withheld}, "
            f"{found.estimates:,} estimates computed again, {len(found.differing):,} differ.",
        )
    _say_compared(found)
    if found.frozen:
        _say_frozen(found.frozen)


def _say_compared(found: Verification | CollectionVerification) -> None:
    if found.compared:
        say(f"Made again and compared: {'; '.join(found.compared)}.")
    for line in found.not_compared:
        say(f"Not compared: {line}.")


def _say_frozen(found: Frozen) -> None:
    """What was frozen and what was changed, with the digests that prove it."""
    if found.as_frozen:
        say(found.headline)
    for row in found.rows():
        if row["state"] != "as frozen":
            say(f"  {row['part']}: {row['state']} ({row['what']})" if row["what"] else f"  {row['part']}")
    for one in found.entries:
        reason = f", because: {one.because}" if one.because else ""
        say(f"Design frozen {one.at}{reason}, SHA-256 {one.digest}")
    if found.first_answer:
        say(f"First answer stored {found.first_answer}")
