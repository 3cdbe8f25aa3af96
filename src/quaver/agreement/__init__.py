"""Coefficients of agreement over items × raters: Krippendorff's alpha, percent agreement, the kappas, ICC.

Each takes ratings that Quaver need not have collected: a matrix, lists, or a frame with a row a rating.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaver.core.registry import lazy_names

if TYPE_CHECKING:
    from quaver.agreement.coefficients import (
        cohen_kappa,
        fleiss_kappa,
        gwet_ac,
        krippendorff_alpha,
        percent_agreement,
    )
    from quaver.agreement.intraclass import intraclass_correlation

__all__ = [
    "cohen_kappa",
    "fleiss_kappa",
    "gwet_ac",
    "intraclass_correlation",
    "krippendorff_alpha",
    "percent_agreement",
]

__getattr__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(__all__, "quaver.agreement.coefficients"),
        "intraclass_correlation": "quaver.agreement.intraclass",
    },
)


def __dir__() -> list[str]:
    return __all__
