"""Writes what a release leaves behind: ``python -m tests.kept.make FOLDER`` collects the kept studies.

Run it once for a release, on a folder of studies. The tests open what it wrote for ever; it is never
written again.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.held_server import held_server
from tests.kept.answers import annotate

from quaver.bundles.packing import bundle
from quaver.study.session import Study

PORT = 8765
"""The one that the study files name."""


def main(release: Path) -> None:
    with held_server(PORT):
        for folder in sorted(path.parent for path in release.glob("*/study.yaml")):
            study = Study.open(folder, functions={"mine": annotate} if folder.name == "mixed" else {})
            print(folder.name, study.run())
            bundle(study, folder / "whole.quaver.zip")
            bundle(study, folder / "bare.quaver.zip", texts=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
