"""The studies that a file lists, each opened as a study of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from quaver.core.arguments import guarded
from quaver.errors import UnknownName
from quaver.study.session import Study
from quaver.study.sources.listed_studies import list_of_studies, studies_in

if TYPE_CHECKING:
    from quaver.study.sources.study_plugins import Annotate


@guarded
def open_studies(
    path: str | Path, *, functions: Mapping[str, Annotate] | None = None, small: bool = False
) -> dict[str, Study]:
    """Open each study that a file lists.

    Args:
        path: The YAML file that lists studies, or its folder.
        functions: For models that ``use: function``, by the model's name; a study takes its own.
        small: Whether to open the small version of each study, which its key ``small`` describes.

    Returns:
        The studies by name, in the file's order.

    Raises:
        SpecError: The file or one of its studies cannot be read.
        UnknownName: A function is for a model that no study has.
    """
    file = list_of_studies(Path(path)) or Path(path)
    given = dict(functions or {})
    studies = {name: Study.open(one, small=small) for name, one in studies_in(file).items()}
    models = {name: {model.name for model in study.spec.models} for name, study in studies.items()}
    known = set().union(*models.values())
    for name in given:
        if name not in known:
            raise UnknownName("model", name, sorted(known), where="functions")
    for name, one in studies_in(file).items():
        if own := {model: call for model, call in given.items() if model in models[name]}:
            studies[name] = Study.open(one, functions=own, small=small)
    return studies
