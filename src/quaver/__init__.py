"""Quaver measures how far you can trust the labels that a language model gives to texts.

Start here; ``help(quaver.NAME)`` says more of each:

- ``check``: from a table of texts to a verdict on a model's labels, in one call;
- ``label``: a label for each text, as a check recommends, in a copy of the table;
- ``Study.open("study.yaml")``: a study, from its file to its report;
- ``open_studies("tasks.yaml")``: the studies that one file lists;
- ``import_annotations``: a study of labels that you already have; ``measure_agreement``: how far they agree;
- ``compare``: what a change did;
- ``bundle``, ``verify``: pack a study into one archive, and make again what follows from its answers;
- ``quaver.measures``: every measure by the name that study files use (``quaver.measures.inter_pss``), and
  what follows from the labels of all prompts together (``conclusion``, ``deviations`` …);
- ``quaver.agreement``: coefficients of items × raters (``quaver.agreement.krippendorff_alpha``);
- ``QuaverError``: every error that you can do something about; ``quaver.errors`` has the whole tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quaver import errors
from quaver.core.registry import lazy_names
from quaver.errors import (
    ItemError,
    MeasureError,
    ModelError,
    QuaverError,
    SpecError,
    StoreError,
    UnknownName,
)

if TYPE_CHECKING:
    from quaver import agreement, measures
    from quaver.bundles.packing import bundle
    from quaver.bundles.verification import verify
    from quaver.comparison.comparison_result import Comparison
    from quaver.comparison.paired_comparison import compare
    from quaver.core.records import Estimate, Label, LabelSet
    from quaver.study.checking.check_design import Check, check
    from quaver.study.imports.agreement_import import measure_agreement
    from quaver.study.imports.label_import import import_annotations
    from quaver.study.labelling.labelling import Labelled, label
    from quaver.study.session import Study, open_studies

    __version__: str

__all__ = [
    "Check",
    "Comparison",
    "Estimate",
    "ItemError",
    "Label",
    "LabelSet",
    "Labelled",
    "MeasureError",
    "ModelError",
    "QuaverError",
    "SpecError",
    "StoreError",
    "Study",
    "UnknownName",
    "__version__",
    "agreement",
    "bundle",
    "check",
    "compare",
    "errors",
    "import_annotations",
    "label",
    "measure_agreement",
    "measures",
    "open_studies",
    "verify",
]

_load = lazy_names(
    "quaver",
    {
        "Check": "quaver.study.checking.check_design",
        "open_studies": "quaver.study.session",
        "Comparison": "quaver.comparison.comparison_result",
        "Estimate": "quaver.core.records",
        "Label": "quaver.core.records",
        "LabelSet": "quaver.core.records",
        "Labelled": "quaver.study.labelling.labelling",
        "Study": "quaver.study.session",
        "agreement": "quaver.agreement",
        "bundle": "quaver.bundles.packing",
        "check": "quaver.study.checking.check_design",
        "compare": "quaver.comparison.paired_comparison",
        "import_annotations": "quaver.study.imports.label_import",
        "label": "quaver.study.labelling.labelling",
        "measure_agreement": "quaver.study.imports.agreement_import",
        "measures": "quaver.measures",
        "verify": "quaver.bundles.verification",
    },
)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("quaver")
    return _load(name)


def __dir__() -> list[str]:
    return sorted(__all__)
