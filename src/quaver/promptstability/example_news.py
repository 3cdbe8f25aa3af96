"""Short invented news about the economy, to try a prompt on."""

from __future__ import annotations

from typing import Any

from quaver.promptstability.pandas_frames import pandas_frame

_NEWS = (
    (0, "Unemployment fell for the fourth month in a row, and factories report full order books."),
    (0, "Exports of machine tools rose by a tenth in spring, well above what economists had forecast."),
    (1, "The country's largest steelworks will close by winter, and 4,000 workers lose their jobs."),
    (1, "Inflation reached its highest level in thirty years as food prices doubled within twelve months."),
    (0, "The central bank cut its rate, citing stable prices and a strong currency."),
    (1, "Two regional banks stopped payments on Monday after savers withdrew their deposits."),
    (0, "Small firms hired more apprentices than in any autumn since records began."),
    (1, "Retail sales dropped again, and chains announced that they would shut a third of their shops."),
    (1, "The budget deficit widened as tax revenue fell short of every projection."),
    (0, "Wages grew faster than prices for the first time since the recession."),
    (1, "Housing starts fell, although builders had hoped that cheaper loans would turn the market."),
    (0, "The port handled a record number of containers, and shippers expect a better year still."),
)


def load_example_data() -> Any:
    """Twelve invented news items about the economy, to try a prompt on.

    Returns:
        A pandas frame with the columns ``id``, ``body`` (the text), ``code`` (0 for positive news, 1 for
        negative) and ``txtlength``.

    Raises:
        Unavailable: pandas is not installed.
    """
    rows = [
        {"id": number, "body": body, "code": code, "txtlength": len(body)}
        for number, (code, body) in enumerate(_NEWS, 1)
    ]
    return pandas_frame(rows)
