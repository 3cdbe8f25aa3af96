"""What a study will take, whether or not its paraphrases have been made and some of its calls answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from quaver.study.collection.study_run import check
from quaver.study.forecasts.forecast import Forecast, forecast, forecast_of_paraphrases
from quaver.study.sources.prices import prices_of
from quaver.study.sources.study_file_source import StudyFile

_STAND_INS = (
    "Paraphrases that a model is to make have not been made yet, and count as long as the original: "
    "`quaver variants` makes them and shows them, and so does `quaver run`."
)


def study_forecast(study: StudyFile, compare: Sequence[str]) -> Forecast:
    """Forecast a study's calls, tokens, time and cost.

    Args:
        study: The study.
        compare: Other models, as genai-prices names them, to say what the study would cost on them.

    Raises:
        UnknownName: The price of one of these is unknown.
    """
    compared = prices_of(compare)
    if study.lacks_paraphrases:
        expected = study.with_stand_ins()
        check(expected)
        left, made = expected.foreseen_paraphrases(), expected.spent_on_paraphrases()
        found = forecast(expected.plan, expected.models, {}, expected.prices, compared, made)
        paraphrases = (*found.paraphrases, *forecast_of_paraphrases(left, expected.prices))
        return replace(found, notes=(*found.notes, _STAND_INS), paraphrases=paraphrases)
    check(study)
    made = study.spent_on_paraphrases()
    return forecast(study.plan, study.models, _usage(study), study.prices, compared, made)


def _usage(study: StudyFile) -> Mapping[str, Mapping[str, float]]:
    """What each model's stored calls took."""
    if not study.files.responses.exists():
        return {}
    with study.answers() as store:
        return store.usage()
