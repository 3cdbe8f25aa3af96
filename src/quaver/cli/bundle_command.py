"""``quaver bundle``: a study in one archive."""

from __future__ import annotations

from pathlib import Path

from quaver.cli.console import say
from quaver.cli.study_options import HERE, FunctionOption, StudyArgument, open_study


def command(
    study: StudyArgument = HERE,
    out: Path | None = None,
    without_texts: bool = False,
    with_tables: bool = False,
    only_study: bool = False,
    function: FunctionOption = None,
) -> None:
    """Pack a study into one archive with checksums.

    It holds answers, annotations, estimates and report; of the items, the rows and columns that the study
    uses. `quaver verify` makes again what follows from the answers. Publish the digest that it prints:
    `quaver verify --digest` compares it.

    Options:
      out: The archive; by default NAME.quaver.zip beside the study's folder.
      without_texts: Leave the items' texts out of every file.
      with_tables: Pack tables of items whole, also what the study does not use of them.
      only_study: Leave out stored answers that are no part of the study; say how many.

    Examples:
      quaver bundle study.yaml
      quaver bundle study.yaml --without-texts --out shared.quaver.zip
    """
    from quaver.bundles.packing import pack_study

    asked = {"texts": not without_texts, "tables": with_tables, "only_study": only_study}
    path, digest, said = pack_study(open_study(study, function), out, **asked)
    say(f"Wrote {path}")
    for line in said:
        say(line)
    say(f"SHA-256 {digest}")
