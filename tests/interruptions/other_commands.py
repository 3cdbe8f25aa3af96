"""Commands that write in a study with two fields: a run, a check, an import, a bundle, a watch, marks …"""

import json
import time

from tests.interrupted import asked, calls

import quaver
from quaver import Study
from quaver.bundles.verification import verify
from quaver.core.records import Label, LabelSet
from quaver.errors import QuaverError
from quaver.start.begun_check import Here
from quaver.study.imports.label_import import import_annotations
from quaver.view.mark_book import MarkBook
from quaver.watch.occasions import CanaryOptions
from quaver.watch.watching import watch

ROWS = "id,text,tone,topics\n"
for at in range(40):
    tone, topic = ("good", "bad")[at % 2], ("tax", "war")[at % 3 // 2]
    ROWS += f"c{at},A {tone} comment number {at},{tone},{topic}\n"
STUDY = """\
task:
  held: false
  fields: {tone: {labels: [good, bad], gold: tone}, topics: {labels: [tax, war], several: true}}
items: {source: texts.csv, id: id, text: "{{ text }}"}
prompt: {instruction: Code this text.}
variants: [{use: instructions, texts: {curt: Code it.}}]
models: [{name: m, use: function}]
measures: [accuracy, compliance]
"""


def _table(folder):
    (folder / "texts.csv").write_text(ROWS)


def _answering(folder):
    def answer(text, prompt):
        asked(folder, f"{text} {prompt}")
        time.sleep(0.002)  # answers that take less than a millisecond are kept together
        return json.dumps({"tone": text.split()[1], "topics": ["tax"] * (len(text) % 2)})

    return answer


def _opened(folder):
    return Study.open(folder / "study", functions={"m": _answering(folder)})


def _written(folder):
    (folder / "study").mkdir()
    _table(folder / "study")
    (folder / "study" / "study.yaml").write_text(STUDY)


def _run(folder):
    _written(folder)
    _opened(folder).run()
    (folder / "calls.txt").unlink()


def _estimates(study):
    return str(study.estimates())


class Run:
    """`quaver run`, then its report."""

    IN_FLIGHT = 8
    before = staticmethod(_written)

    @staticmethod
    def command(folder):
        study = _opened(folder)
        study.run()
        study.report(folder / "report")
        return _estimates(study)


class Check:
    """`quaver check` of a table."""

    IN_FLIGHT = 8
    before = staticmethod(_table)

    @staticmethod
    def command(folder):
        options = {"fields": ("tone", "topics"), "n": 20, "prompts": 2, "repeats": 1, "yes": True}
        return str(quaver.check(folder / "texts.csv", model=_answering(folder), **options).verdict.kind)


class Import:
    """`quaver import`, which refuses a folder that holds a study."""

    before = staticmethod(_table)

    @staticmethod
    def command(folder):
        home = folder / "imported"
        try:
            import_annotations(folder / "texts.csv", home, label="tone", item="id", ignore=("topics",))
        except QuaverError as error:
            if "already a study" not in str(error):
                raise
        return _estimates(Study.open(home))


class Bundle:
    """`quaver bundle`, whose archive holds."""

    before = staticmethod(_run)

    @staticmethod
    def command(folder):
        path = quaver.bundle(_opened(folder), folder / "votes.zip")[0]
        found = verify(path)
        assert not found.differs, [*found.changed, *found.differing]
        return f"{found.outcome} {found.annotations}"


class Watch:
    """A look of `quaver watch`, the first."""

    IN_FLIGHT = 8
    before = staticmethod(_written)

    @staticmethod
    def command(folder):
        kept = folder / "study" / "watch" / "occasions.json"
        if not (kept.exists() and json.loads(kept.read_text())["occasions"][0]["ended"]):
            watch(_opened(folder), CanaryOptions(prompts=4, parts=2, first=2))
        return str(len(set(calls(folder))))


class Marks:
    """Marks of a person in the viewer, one after the other."""

    before = staticmethod(_written)

    @staticmethod
    def command(folder):
        book = MarkBook(folder / "study", LabelSet((Label("good", "good"), Label("bad", "bad"))))
        for at in range(len(book.marks()), 4):
            book.add({"item": f"c{at}", "note": f"note {at}"}, "ada")
        return str([(one.item, one.note) for one in book.marks()])


class Rescored:
    """`quaver rescore`, which keeps annotations."""

    before = staticmethod(_run)

    @staticmethod
    def command(folder):
        study = _opened(folder)
        study.rescore(["json_field"])
        return _estimates(study)


class Begun:
    """The state of `quaver start`: a check that is put together, option by option."""

    before = staticmethod(_table)

    @staticmethod
    def command(folder):
        here = Here(folder)
        names = here.names()
        begun = here.begun(names[0]) if names else here.begin(folder / "texts.csv")
        begun.take_column("topics", "ignore")
        begun.take_column("tone", "gold")
        return str([(one.role, one.column) for one in begun.columns()])
