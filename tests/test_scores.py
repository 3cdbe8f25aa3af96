"""Studies that ask for scores, from the study file to accuracy and compliance."""

import pytest

from quaver.errors import SpecError, UnknownName
from quaver.study.session import Study

ONE_NUMBER = "How likely is it that this text is toxic? Answer with one number from 0 to 1."


class Rater:
    """A model that is always right, in the form that it is asked for."""

    def __init__(self):
        self.asked = 0

    def __call__(self, text, prompt):
        self.asked += 1
        toxic = "vile" in text
        if "0 to 1" in prompt:
            return "0.97" if toxic else "0.03"
        return "yes, not no" if toxic else "no, or maybe yes"


def study(folder, labels, score, **more):
    rows = (f"{i},{'vile' if i % 2 else 'kind'} words,{'yes' if i % 2 else 'no'}" for i in range(6))
    (folder / "items.csv").write_text("\n".join(["id,text,truth", *rows]) + "\n", encoding="utf-8")
    return {
        "task": {"labels": labels},
        "items": {"source": str(folder / "items.csv"), "id": "id", "text": "{{ text }}", "gold": "truth"},
        "prompt": {"instruction": "Is this text toxic?"},
        "variants": [
            {"use": "factors", "factors": {"output": ["label", "score"]}, "parts": {"score": score}}
        ],
        "models": [{"name": "rater", "use": "function"}],
        "evaluators": [{"use": "by_output", "label": {"use": "label_match", "several": "first"}}],
        "measures": [{"use": name, "by": ["output"]} for name in ("accuracy", "compliance")],
        **more,
    }


def measured(opened):
    return {(one.measure, one.cell["factor_output"]): one.value for one in opened.estimates()}


@pytest.mark.parametrize("labels", [["yes", "no"], ["no", "yes"]])
def test_a_perfect_model_is_right_whatever_the_order_of_the_labels(tmp_path, labels):
    asked = study(tmp_path, labels, {"text": ONE_NUMBER, "score_of": "yes"})
    opened = Study.open(asked, folder=tmp_path / "study", functions={"rater": Rater()})
    opened.run()
    assert measured(opened) == {
        (name, output): 1.0 for name in ("accuracy", "compliance") for output in ("label", "score")
    }


def test_a_score_that_names_no_label_is_refused_before_anything_is_asked(tmp_path):
    rater = Rater()
    asked = study(tmp_path, ["yes", "no"], {"text": ONE_NUMBER})
    with pytest.raises(SpecError, match="score_of"):
        Study.open(asked, folder=tmp_path / "study", functions={"rater": rater}).run()
    asked["evaluators"] = [{"use": "label_scores", "score_of": "yess"}]
    asked["variants"] = []
    with pytest.raises(UnknownName, match=r"evaluators\[0\]: score_of: .*'yess'"):
        Study.open(asked, folder=tmp_path / "study", functions={"rater": rater}).run()
    assert rater.asked == 0


def test_answers_are_read_again_where_the_score_is_of_another_label(tmp_path):
    rater = Rater()
    for label, right in (("yes", 1.0), ("no", 0.0)):
        asked = study(tmp_path, ["yes", "no"], {"text": ONE_NUMBER, "score_of": label})
        opened = Study.open(asked, folder=tmp_path / "study", functions={"rater": rater})
        opened.run()
        assert measured(opened)["accuracy", "score"] == right
    assert rater.asked == 12  # 6 items, 2 prompts


def test_tied_scores_comply_and_are_not_right(tmp_path):
    asked = study(tmp_path, ["yes", "no"], {})
    functions = {"rater": lambda text, prompt: "yes: 0.5\nno: 0.5" if "sum to 1" in prompt else "yes"}
    opened = Study.open(asked, folder=tmp_path / "study", functions=functions)
    opened.run()
    assert measured(opened) == {
        ("accuracy", "label"): 0.5,
        ("compliance", "label"): 1.0,
        ("accuracy", "score"): 0.0,
        ("compliance", "score"): 1.0,
    }
    tied = opened.annotations().filter(factor_output="score")
    assert tied["status"].cast(str).to_list() == ["valid"] * 6
    assert tied["label"].null_count() == 6
