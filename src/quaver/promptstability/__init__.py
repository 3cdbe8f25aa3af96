"""For users of the promptstability package: its class and functions, on Quaver's arithmetic.

Change ``from promptstability.core import PromptStabilityAnalysis`` to ``from quaver.promptstability import
PromptStabilityAnalysis``. Arguments, returned values and CSV columns are the same; each score also has
Krippendorff's alpha itself and an interval that resamples items. The frames are pandas frames, so this needs
the extra ``pandas``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaver.core.registry import lazy_names

if TYPE_CHECKING:
    from quaver.promptstability.prompt_stability_analysis import PromptStabilityAnalysis
    from quaver.promptstability.rewording import get_api_key, load_example_data

__all__ = ["PromptStabilityAnalysis", "get_api_key", "load_example_data"]

__getattr__ = lazy_names(
    __name__,
    {
        "PromptStabilityAnalysis": "quaver.promptstability.prompt_stability_analysis",
        "get_api_key": "quaver.promptstability.rewording",
        "load_example_data": "quaver.promptstability.rewording",
    },
)


def __dir__() -> list[str]:
    return __all__
