"""Agreement of labels that are sets, against nltk 3.10.4's ``AnnotationTask`` and by hand."""

import numpy as np
import pytest
from tests.agreement.nltk_values import set_table

from quaver.agreement import cohen_kappa, krippendorff_alpha
from quaver.agreement.disagreement import set_distances
from quaver.core.records import Label, LabelSet
from quaver.errors import MeasureError
from quaver.measures.evidence.label_flips import likeness

NLTK = [
    (0.3875114784205692, 0.3390804597701149),
    (0.18658015508783032, 0.12701954833526685),
    (0.41819476374080533, 0.35110151187904903),
    (0.48489886395123283, 0.3590196194353179),
    (0.37369429042159064, 0.2734415070257772),
]
"""Alpha with Jaccard and with MASI distance of each table: ``nltk_values.py`` prints them."""


@pytest.mark.parametrize("seed", range(5))
def test_alphas_of_sets_are_nltk_s(seed):
    table = set_table(seed)
    found = [krippendorff_alpha(table, level=level, resamples=0).value for level in ("jaccard", "masi")]
    assert found == pytest.approx(NLTK[seed], abs=1e-9)


def test_sets_of_one_label_agree_as_nominal_labels_do():
    table = [["a", "a"], ["a", "b"], ["b", "b"], ["c", "c"]]
    nominal = krippendorff_alpha(table, resamples=0)
    for level in ("jaccard", "masi"):
        found = krippendorff_alpha(table, level=level, resamples=0)
        assert found.value == pytest.approx(nominal.value, abs=1e-12)
    written = [["a;b", "b; a"], ["a", "a;a"], ["[]", "[]"], ["c", "c"]]
    assert krippendorff_alpha(written, level="jaccard").value == 1, "order, spaces and copies do not count"
    with pytest.raises(MeasureError) as caught:
        krippendorff_alpha([["a", "b"]], level="dice")
    assert "jaccard" in (caught.value.expected or "")


def test_distances_worked_by_hand():
    sets = ["a;b", "a", "b;c", "d"]
    assert set_distances(sets, "jaccard")[0].tolist() == [0, 1 / 2, 1 - 1 / 3, 1]
    assert set_distances(sets, "masi")[0] == pytest.approx([0, 1 - 1 / 2 * 2 / 3, 1 - 1 / 3 * 1 / 3, 1])


def test_kappa_and_flips_weigh_sets_by_their_distance():
    labels = LabelSet(tuple(Label(code, code) for code in ("a;b", "a", "c")), "jaccard")
    like = likeness(labels)
    assert like is not None
    assert np.allclose(like, [[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]])
    table = [["a;b", "a"], ["a", "a"], ["c", "c"], ["c", "a"]]
    # p_a = (0.5 + 1 + 1 + 0) / 4; p = (1/4, 1/4, 1/2), q = (0, 3/4, 1/4), p_e = 3/32 + 6/32 + 1/8
    assert cohen_kappa(table, level="jaccard").value == pytest.approx((0.625 - 0.40625) / (1 - 0.40625))
