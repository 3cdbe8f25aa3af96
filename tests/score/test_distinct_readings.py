"""A mark of the rules that answers are read by."""

import importlib.util
import sys

from quaver.score.annotation import mark_of_rules
from quaver.score.evaluators.named_label import Exact, FirstLabel


def test_the_mark_depends_on_the_code_and_not_on_which_of_quavers_evaluators_read():
    assert mark_of_rules([Exact()]) == mark_of_rules([FirstLabel(), Exact()])


def test_an_evaluator_of_another_package_counts_with_its_file(tmp_path):
    marks = []
    for number, rule in enumerate(("the first", "the last")):
        file = tmp_path / f"theirs_{number}.py"
        file.write_text(f'class Theirs:\n    """Takes {rule} label."""\n')
        spec = importlib.util.spec_from_file_location(file.stem, file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[file.stem] = module
        spec.loader.exec_module(module)
        marks.append(mark_of_rules([module.Theirs()]))
        del sys.modules[file.stem]
    assert marks[0] != marks[1] != mark_of_rules([Exact()])
