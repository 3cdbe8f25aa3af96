"""What was acknowledged is read back, or one error says what is lost: for every file that Quaver keeps.

The suite takes samples; ``QUAVER_CONFORMANCE=all`` goes through every byte and every line of all but the
largest files, and tells how many points these were.
"""

import os
import random
import resource
import shutil
import sys
import unicodedata
from collections import Counter
from contextlib import contextmanager

import pytest
from tests.core.persistent import CASES, REFUSED

pytestmark = pytest.mark.long

ALL = os.environ.get("QUAVER_CONFORMANCE") == "all"
SEED = int(os.environ.get("QUAVER_CONFORMANCE_SEED", "1"))
SEPARATORS = [
    chr(code)
    for code in range(0x110000)
    if unicodedata.category(chr(code)) in ("Cc", "Zl", "Zp", "Zs") or code in (0xFEFF, 0x200B, 0xFFFE)
]
TRACED = ("core/line_file.py", "core/replaced_file.py", "core/transaction.py", "store/spill.py")
"""Files at whose lines a process is killed."""

POINTS = Counter[str]()
"""How many points of each kind were gone through."""


@pytest.fixture(scope="module", autouse=True)
def _told():
    yield
    if ALL:
        print(f"\n{POINTS.total():,} points: {dict(POINTS)}", file=sys.__stderr__, flush=True)


over_cases = pytest.mark.parametrize("case", CASES, ids=str)


def some(of, most):
    """Places to look at: all of them, or a sample with both ends; 24 times as many where all is asked."""
    most *= 24 if ALL else 1
    if len(of) <= most:
        return list(of)
    return sorted({of[0], of[-1], *random.Random(SEED).sample(of, most)})


def kept(case, *texts):
    """What is read once these texts are acknowledged."""
    return list(texts) if case.adds else list(texts[-1:])


def read(case, folder):
    """What is read; None where one error says that something is lost."""
    try:
        return case.read(folder)
    except REFUSED:
        return None


# ----------------------------------------------------------------------------------- separators


@over_cases
def test_every_separator_and_control_character_comes_back(case, tmp_path):
    texts = [f"a{one}b{one}" for one in (SEPARATORS if ALL else random.Random(SEED).sample(SEPARATORS, 8))]
    texts.append("x".join(["", *SEPARATORS, ""]))
    for number, text in enumerate(texts):
        case.write(tmp_path, text)
        POINTS["separators"] += 1
        assert case.read(tmp_path) == kept(case, *texts[: number + 1])


# --------------------------------------------------------------------------------------- no space


@contextmanager
def _no_file_longer_than(size):
    """Writes beyond this are cut short by the system itself, and then fail."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@over_cases
def test_whatever_fits_no_acknowledged_text_is_lost(case, tmp_path):
    first = tmp_path / "first"
    first.mkdir()
    case.write(first, "one")
    trial = shutil.copytree(first, tmp_path / "trial")
    case.write(trial, "two")
    longest = max((file.stat().st_size for file in trial.rglob("*") if file.is_file()), default=0)
    for size in some(range(longest + 1), 25):
        folder = shutil.copytree(first, tmp_path / f"{size}")
        with _no_file_longer_than(size):
            try:
                case.write(folder, "two")
                acknowledged = True
            except REFUSED:
                acknowledged = False
        POINTS["no room"] += 1
        found = case.read(folder)
        assert found == kept(case, "one", "two") or (not acknowledged and found == ["one"]), size
        case.write(folder, "three")
        assert case.read(folder) == kept(case, *(found if case.adds else []), "three")
        shutil.rmtree(folder)


# ------------------------------------------------------------------------------------------ kills


class _Killed(BaseException):
    pass


def _killed_at(line, folder, into, act):
    """Do something, and copy the folder as it is at a line of the helpers; whether it came so far."""
    seen = 0

    def at_line(frame, event, _):
        nonlocal seen
        if event == "line":
            seen += 1
            if seen == line:
                shutil.copytree(folder, into)
                raise _Killed
        return at_line

    def at_call(frame, event, _):
        return at_line if frame.f_code.co_filename.endswith(TRACED) else None

    before = sys.gettrace()
    sys.settrace(at_call)
    try:
        act()
    except _Killed:
        pass
    finally:
        sys.settrace(before)
    return into.exists()  # Python swallows what is raised at a generator's end


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@over_cases
def test_a_kill_at_any_line_loses_nothing_that_was_acknowledged(case, tmp_path):
    first = tmp_path / "first"
    first.mkdir()
    case.write(first, "one")
    lines = _lines_of_helpers(lambda: case.write(_anew(first, tmp_path), "two"))
    for line in some(range(1, lines + 1), 25):
        folder, found = _anew(first, tmp_path), tmp_path / f"found-{line}"
        assert _killed_at(line, folder, found, lambda: case.write(folder, "two"))  # noqa: B023
        POINTS["kills"] += 1
        there = case.read(found)
        assert there in (["one"], kept(case, "one", "two")), line
        case.write(found, "three")
        assert case.read(found) == kept(case, *(there if case.adds else []), "three"), line
        shutil.rmtree(found)


def _lines_of_helpers(act):
    """How many lines of the helpers are gone through."""
    seen = 0

    def at_line(frame, event, _):
        nonlocal seen
        seen += event == "line"
        return at_line

    before = sys.gettrace()
    sys.settrace(lambda frame, *_: at_line if frame.f_code.co_filename.endswith(TRACED) else None)
    try:
        act()
    finally:
        sys.settrace(before)
    return seen


def _anew(first, home):
    shutil.rmtree(home / "trial", ignore_errors=True)
    return shutil.copytree(first, home / "trial")


# ------------------------------------------------------------------------------------ generations


@over_cases
def test_an_earlier_generation_of_a_file_is_read_as_it_was(case, tmp_path):
    folder = tmp_path / "now"
    folder.mkdir()
    case.write(folder, "one")
    earlier = shutil.copytree(folder, tmp_path / "earlier")
    case.write(folder, "two")
    for pattern in case.files:
        for file in folder.glob(pattern):
            file.unlink()
        for file in earlier.glob(pattern):
            shutil.copy2(file, folder / file.relative_to(earlier))
    POINTS["earlier generations"] += 1
    assert read(case, folder) in (["one"], kept(case, "one", "two"), None)
    case.write(folder, "three")
    assert "three" in case.read(folder)


# ----------------------------------------------------------------------------------------- damage


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_damaged_byte_is_noticed_or_changes_nothing(case, tmp_path):
    first = tmp_path / "first"
    first.mkdir()
    for text in ("one", "two"):
        case.write(first, text)
    draw, outcomes = random.Random(SEED), Counter[str]()
    for pattern in case.files:
        for file in sorted(first.glob(pattern)):
            whole = file.read_bytes()
            for at in some(range(len(whole)), 120):
                byte = draw.choice([0, 10, 34, 255, whole[at] ^ 1, whole[at] ^ 128])
                if byte == whole[at]:
                    continue
                folder = _anew(first, tmp_path)
                damaged = folder / file.relative_to(first)
                damaged.write_bytes(whole[:at] + bytes([byte]) + whole[at + 1 :])
                others = _contents(folder, damaged)
                found = read(case, folder)
                outcomes["noticed" if found is None else "unharmed"] += 1
                POINTS["damage, noticed" if found is None else "damage, unharmed"] += 1
                if case.asked_again:
                    assert {*(found or ())} <= {"one", "two"}
                    continue
                assert found in (None, kept(case, "one", "two")), (file.name, at, byte)
                assert _contents(folder, damaged).items() >= others.items()
    assert outcomes.total()


def _contents(folder, but):
    """What is in the other files, beside those that a database makes while it is open."""
    return {
        file.name: file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file() and file != but and "responses" not in file.name
    }
