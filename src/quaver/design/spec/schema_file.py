"""A study file for editors: its first line names the schema, which lies beside it and needs no network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from quaver.design.spec.json_schema import SCHEMA_ID, json_schema
from quaver.errors import SpecError

SCHEMA_FILE: Final = "study.schema.json"
MODELINE: Final = f"# yaml-language-server: $schema={SCHEMA_FILE}\n"
"""What the YAML language server reads, in VS Code, JetBrains' IDEs, Neovim, Emacs and Helix."""


def write_with_schema(path: Path, text: str) -> None:
    """Write a study file that begins with its modeline, and the schema beside it.

    Args:
        path: The study file; its folder is made.
        text: The study.

    Raises:
        SpecError: Another file has the schema's name.
    """
    schema = path.parent / SCHEMA_FILE
    if schema.exists() and f'"{SCHEMA_ID}"' not in schema.read_text(encoding="utf-8", errors="replace"):
        raise SpecError(
            "another file has the name of the study file's schema",
            where=str(schema),
            fix="rename it, or write the study into another folder",
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    schema.write_text(json.dumps(json_schema(), indent=2) + "\n", encoding="utf-8")
    path.write_text(MODELINE + text, encoding="utf-8")
