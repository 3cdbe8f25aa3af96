"""What YAML makes of a text without quotation marks: nothing, yes and no, a number, a date."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any


def as_yaml_reads(value: Any) -> str | None:
    """What to do if YAML did not read a text as text.

    >>> as_yaml_reads(True)
    'YAML reads true and false as yes and no; put a text in quotation marks: "true"'
    """
    if isinstance(value, Mapping):
        return 'put a text that starts with a brace in quotation marks: "{{ text }}"'
    if value is None:
        return 'YAML reads null, ~ and an empty value as nothing; put a text in quotation marks: "null"'
    if isinstance(value, bool):
        shown = str(value).lower()
        return f'YAML reads true and false as yes and no; put a text in quotation marks: "{shown}"'
    if isinstance(value, date):
        return f'YAML reads this as a date; put a text in quotation marks: "{value}"'
    if isinstance(value, int | float):
        return f'YAML reads this as a number; put a text in quotation marks: "{value}"'
    return None
