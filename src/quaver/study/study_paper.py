"""What a paper takes from a study: from its source to a table, a paragraph and references."""

from __future__ import annotations

from contextlib import ExitStack

from quaver.report.estimate_index import Results
from quaver.report.page.paper_parts import Paper, paper_parts
from quaver.report.page.worst_tables import cost_table
from quaver.report.tables.field_checklists import field_checklists
from quaver.study.analysis.report_evidence import StoredBehind
from quaver.study.analysis.study_acceptance import shown_acceptance
from quaver.study.analysis.study_certification import certified
from quaver.study.analysis.study_estimates import estimates_of_audit, estimates_of_study, measurable
from quaver.study.sources.study_source import StudySource
from quaver.study.study_verdict import resolved


def paper(study: StudySource) -> Paper:
    """The table, the paragraph and the references of a study.

    Raises:
        StoreError: Nothing is stored yet.
    """
    frame = measurable(study)
    with ExitStack() as opened:
        stored = study.files.responses.exists()
        store = opened.enter_context(study.answers()) if stored else None
        costs = StoredBehind(study.experiment, store, study.prices, study.spent_on_paraphrases()).costs()
    estimates = certified(study, estimates_of_study(study, None, frame), frame)
    lock = resolved(study) | shown_acceptance(study, frame)
    results = Results(lock, frame, estimates, audit=estimates_of_audit(study, frame))
    paid = cost_table(costs)
    return paper_parts(results, paid, field_checklists(results, raw_kept=stored, paid=paid))
