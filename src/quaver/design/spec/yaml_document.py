"""A YAML file that is no study file: what it says, checked by a model, with its lines for errors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from quaver.core.arguments import excerpt
from quaver.design.spec.spec_part import Part
from quaver.design.spec.study_file import Positions, read_part
from quaver.design.spec.yaml_file import read_yaml
from quaver.errors import SpecError

Read = TypeVar("Read", bound=Part)


def read_document(
    path: Path, model: type[Read], *, problem: str, expected: str
) -> tuple[Read, Positions, Mapping[str, Any]]:
    """Read a YAML file whose keys a model describes.

    Args:
        path: The file.
        model: What it may say.
        problem: What is wrong where it holds no keys at all.
        expected: The keys that it should have.

    Returns:
        What it says, where it says it, and the document as it was written.

    Raises:
        SpecError: It cannot be read, or has a mistake.
    """
    document = read_yaml(path)
    source = Positions(path, document)
    if not isinstance(document, Mapping):
        raise SpecError(problem, where=source.where(), expected=expected, found=excerpt(document))
    return read_part(model, document, source, ()), source, document
