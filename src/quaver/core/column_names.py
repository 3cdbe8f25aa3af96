"""The one rule for names that meet: Quaver's columns keep their names, and a study's own give way.

A factor ``output`` is the column ``factor_output``, a group ``status`` is ``group_status`` and a coder
``label`` is ``coder_label``: in every frame, table, chart, export, filter, bundle and comparison. A name that
meets nothing stays as it is.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, Literal

from quaver.core.annotations import ANNOTATION_COLUMNS

_CALLS = """
    follow_up prompt output thinking finish error prompt_tokens cached_tokens completion_tokens
    thinking_tokens latency received seed served_model fingerprint instrument reused_from key"""
_GRIDS = "temperature top_p top_k min_p repeat_penalty max_tokens"
_ESTIMATES = """
    measure value low high confidence_level n unit estimand warnings excluded details method reference
    factor level class true_label term study items column conclusion phrasing predictor promise share
    repeats versus coder corrected predictions depth"""
_ITEMS = """
    id text why mode score sensitivity consistency unparsed right agreement accuracy labels valid
    instability compliance text_words"""
_FIELDS = "is no answer length evaluators modal flipped mark marked by note raw token"

RESERVED: Final = frozenset(
    [*ANNOTATION_COLUMNS, *" ".join([_CALLS, _GRIDS, _ESTIMATES, _ITEMS, _FIELDS]).split()]
)
"""The columns of annotations, calls, grids, estimates and tables of items, and the fields of a query."""

_READINGS = (".label", ".status", ".reason", ".confidence", ".correct")
"""How the columns of an evaluator end in an export."""

Kind = Literal["factor", "group", "coder"]


def column_of(kind: Kind, name: str) -> str:
    """The column of a factor, a group or a coder.

    >>> column_of("factor", "output"), column_of("group", "Status"), column_of("factor", "tone")
    ('factor_output', 'group_Status', 'tone')
    """
    meets = name.lower() in RESERVED or name.lower().endswith(_READINGS)
    return f"{kind}_{name}" if meets else name


def column_among(name: str, columns: Collection[str]) -> str:
    """The column that a name means: that of the name, or else that of a factor, group or coder of the name.

    >>> column_among("output", ["item", "factor_output"]), column_among("item", ["item", "group_item"])
    ('factor_output', 'item')
    """
    kinds: tuple[Kind, ...] = ("factor", "group", "coder")
    known = [name, *(column_of(kind, name) for kind in kinds)]
    return next((column for column in known if column in columns), name)


def in_words(column: str) -> str:
    """What a sentence calls a column: the name that the study gave it.

    >>> in_words("factor_output"), in_words("factor_tone")
    ('output', 'factor_tone')
    """
    kind, _, name = column.partition("_")
    return name if kind in ("factor", "group", "coder") and column_of("factor", name) != name else column
