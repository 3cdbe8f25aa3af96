"""Commands that are interrupted at each change of a file: killed there, or refused by the system.

A scenario is a module, or a class in one (``module:Name``), with functions of a folder: ``before`` makes what
is there, ``command`` is interrupted.
Each interruption is a process of its own, forked from one that has imported everything and computed nothing.
"""

import errno
import json
import os
import random
import re
import signal
import subprocess
import sys
import traceback
import warnings
from importlib import import_module
from importlib.metadata import distribution
from itertools import product
from pathlib import Path
from shutil import copytree, rmtree

from tests.samples import drawn

_ROOT = Path(__file__).parents[1]
_TIMES = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?)?")
_TOUCHING = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "open")
_PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" width="9" height="9"></svg>'
_OF_PROCESSES = (".lock", ".run.lock", ".run.pid", "calls.txt")
_WAYS = {"killed": None, "full": errno.ENOSPC, "read-only": errno.EROFS}


def interruptions(scenario, folder, most, seed="", parts=1):
    """What came of interrupting a scenario's command in each way at up to so many of its changes.

    They are spread evenly, or drawn with a seed; of all ways at all of them a part is taken, others each day.

    Returns:
        ``whole``: what is there after it ran whole; ``changes``: how many changes that took; ``wrong``: for
        each way and change at which it was interrupted and then came out differently, how.
    """
    done = subprocess.run(
        [sys.executable, "-m", "tests.interrupted", scenario, str(folder), str(most), str(seed), str(parts)],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(json.loads(done.stdout.splitlines()[-1]))


def kept_in(folder):
    """The files of a folder by their names: tables as rows, texts without times; nothing half written.

    What is made again where it does not fit lies in folders ``kept``, under marks of when the answers came.
    """
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        is_made_again = path.parent.name == "kept"
        if path.is_file() and not is_made_again and path.name not in _OF_PROCESSES:
            found[name] = _content(path)
    return found


def _content(path):
    from quaver.design.items.table_files import read_rows

    if path.suffix == ".xlsx":
        return [dict(row) for row in read_rows(path, sheet="Labels")]
    if path.suffix in (
        ".db",
        ".log",
        ".parquet",
        ".html",
        ".zip",
        ".reserve",
        ".spill",
    ) or path.name.endswith(("-wal", "-shm")):
        return None
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".json":
        text = json.dumps(json.loads(text), sort_keys=True, indent=1)
    text = _TIMES.sub("TIME", text)
    text = re.sub(r'"(checksum|sha256)": "[0-9a-f]+"|"(\w+\.(json|csv))": \d+', r'"\1\2"', text)
    return re.sub(r'"(seen|process|first|last)": [\d.]+', r'"\1"', text)


def asked(folder, text):
    """Note that a model was asked, in a file beside the study."""
    with (folder / "calls.txt").open("a", encoding="utf-8") as file:
        file.write(f"{text}\n")


def calls(folder):
    """What models were asked so far."""
    path = folder / "calls.txt"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


class _Interruption:
    """Counts changes of files in a folder; ends the process at one of them, or refuses it and the rest."""

    def __init__(self, folder, moment, number):
        self._folder, self._moment, self._number = str(folder.resolve()), moment, number
        self.count = 0
        sys.addaudithook(self._event)
        for name in ("fsync", "write", "ftruncate"):
            setattr(os, name, self._counted(getattr(os, name)))

    def _event(self, event, given):
        if event not in _TOUCHING or not isinstance(given[0], str | os.PathLike):
            return
        if event == "open":
            writes = given[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            if not writes:
                return
        path = os.fspath(given[0])
        if os.path.abspath(path).startswith(self._folder) and not path.endswith("calls.txt"):
            self._touched()

    def _counted(self, real):
        def counted(file, *given):
            if file > 2:
                self._touched()
            return real(file, *given)

        return counted

    def _touched(self):
        self.count += 1
        if self.count <= self._moment:
            return
        if self._number is None:
            os.kill(os.getpid(), signal.SIGKILL)
        raise OSError(self._number, os.strerror(self._number))


def _child(work):
    """Run something in a process of its own; its exit status, or minus the signal that ended it."""
    sys.stdout.flush()
    process = os.fork()
    if not process:
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _after(scenario, folder, file):
    """Run the command whole, and write down what is there."""
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        result = scenario.command(folder)
    kept = kept_in(folder)
    words = [str(one.message) for one in noted if "command that was stopped" in str(one.message)]
    file.write_text(json.dumps([kept, result, calls(folder), words]), encoding="utf-8")


def _code():
    """Quaver's files and entry points: another checkout or installation meanwhile is no interruption."""
    from quaver.study.sources.kept_results import quaver_code as digest

    return digest.__wrapped__(), distribution("quaver").read_text("entry_points.txt")


def _main():
    code = _code()
    name, home, most, seed, parts = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:]
    used = ("study.labelling.labelling", "study.study_report", "bundles.packing", "start.begun_check")
    for module in (
        *(f"quaver.{one}" for one in used),
        "scipy.stats",
        "scipy.optimize",
        "scipy.sparse.csgraph",
    ):
        import_module(module)  # once, not in every process
    pages = import_module("quaver.report.page_templates")._environment()
    for page in pages.list_templates(["html"]):
        pages.get_template(page)
    svg = import_module(
        "quaver.report.charts.svg"
    )  # drawing takes a second a picture, and decides nothing here
    svg._drawn = lambda specification: _PICTURE
    svg.FORMATS = dict.fromkeys(svg.FORMATS, str.encode)
    module, _, part = name.partition(":")
    scenario = import_module(module)
    scenario = getattr(scenario, part) if part else scenario
    # The same place each time, as paths stand in some files.
    start, folder, file = home / "start", home / "at", home / "kept.json"

    def before():
        folder.mkdir()
        scenario.before(folder)

    assert _child(before) == 0
    copytree(folder, start, symlinks=True)
    counted = home / "count"

    def whole():
        interruption = _Interruption(folder, 10**9, None)
        scenario.command(folder)
        counted.write_text(str(interruption.count))

    assert _child(whole) == 0
    changes = int(counted.read_text())
    rmtree(folder)
    copytree(start, folder)
    assert _child(lambda: _after(scenario, folder, file)) == 0
    kept, result, paid, _ = json.loads(file.read_text())
    wrong, words = {}, set()
    moments = sorted({round(one * (changes - 1) / max(1, most - 1)) for one in range(most)})
    if seed:
        moments = sorted(random.Random(seed).sample(range(changes), min(most, changes)))
    places = drawn(product(_WAYS, moments), int(parts), len(name))
    for way, moment in places:
        rmtree(folder)
        copytree(start, folder)
        place = f"{way} at {moment}"

        def interrupted(way=way, moment=moment):
            _Interruption(folder, moment, _WAYS[way])
            scenario.command(folder)

        with (home / "errors").open("w") as errors:
            said = os.dup(2)
            os.dup2(errors.fileno(), 2)
            status = _child(interrupted)
            os.dup2(said, 2)
        last = (home / "errors").read_text().strip().rpartition("\n")[2]
        again = _child(lambda: _after(scenario, folder, file))
        if again:
            wrong[place] = f"interrupted with {status} ({last[:300]}), then it fails"
            continue
        now, says, more, told = json.loads(file.read_text())
        words.update(re.sub(r"^.*?: ", "", one) for one in told)
        other = [one for one in {*kept, *now} if kept.get(one) != now.get(one)]
        if other:
            first = other[0]
            wrong[place] = f"{other}: {str(kept.get(first))[:400]} / {str(now.get(first))[:400]}"
        elif says != result:
            wrong[place] = f"{result} / {says}"
        elif status > 0 and "to do:" not in last:
            wrong[place] = f"no error of Quaver's: {last[:300]}"
        twice = len(more) - len(paid)
        if twice > getattr(scenario, "IN_FLIGHT", 0):
            wrong[place] = f"{twice} calls more than without an interruption"
    assert _code() == code, "the code changed while its commands were interrupted"
    found = {"whole": kept, "changes": changes, "points": len(places), "wrong": wrong}
    print(json.dumps(found | {"words": sorted(words)}))


if __name__ == "__main__":
    _main()
