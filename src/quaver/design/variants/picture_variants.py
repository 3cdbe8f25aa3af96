"""``pictures``: the items' pictures smaller, more compressed, or cropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated

from pydantic import Field

from quaver.core.records import Variant
from quaver.design.factor_levels import ORIGINAL, LevelOfFactor, family, level
from quaver.design.paraphrase.paraphraser import PromptContext

Percent = Annotated[int, Field(ge=1, le=99)]
Quality = Annotated[int, Field(ge=1, le=95)]


@family("picture")
def pictures(
    context: PromptContext,
    *,
    size: Percent | list[Percent] | None = None,
    jpeg: Quality | list[Quality] | None = None,
    crop: Percent | list[Percent] | None = None,
) -> Sequence[LevelOfFactor]:
    """Each picture as it is, then smaller, as a JPEG of lower quality, or cropped; each is a level.

    Without options: ``size 50%``, ``JPEG 30`` and ``crop 80%``. Pictures of examples stay as they are.

    Args:
        context: The prompt.
        size: How much of its width and height a picture keeps when it is made smaller, in percent.
        jpeg: The quality of a JPEG, from 1 to 95; cameras use about 90.
        crop: How much of its width and height a picture keeps around its centre, in percent.
    """
    if size is jpeg is crop is None:
        size, jpeg, crop = 50, 30, 80
    changes = [
        form.format(number)
        for form, numbers in (("size {}%", size), ("JPEG {}", jpeg), ("crop {}%", crop))
        for number in dict.fromkeys([numbers] if isinstance(numbers, int) else numbers or ())
    ]
    return [
        level(ORIGINAL, family="pictures"),
        *(level(change, partial(_changed, change), family="pictures") for change in changes),
    ]


def _changed(change: str, variant: Variant) -> Variant:
    return replace(variant, pictures=(*variant.pictures, change))
