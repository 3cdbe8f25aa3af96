"""Lines and replaced files: whole or not at all, and what was acknowledged is read back."""

import errno
import fcntl
import json
import os

import pytest

from quaver.core.line_file import LineFile, append_line, line_of
from quaver.core.replaced_file import locked, replace_text
from quaver.errors import StoreError

SEPARATORS = [chr(code) for code in (*range(32), 0x7F, 0x85, 0xA0, 0x2028, 0x2029, 0xFEFF, 0xD800, 0x1F600)]


def short(room):
    """``os.write`` on a disk that has room for so many bytes."""
    write, left = os.write, [room]

    def some(file, content):
        if not left[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = write(file, content[: left[0]])
        left[0] -= written
        return written

    return some


def test_a_disk_that_takes_little_at_a_time_takes_all(tmp_path, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, content: write(file, content[:3]))
    kept, said = LineFile(tmp_path / "made" / "lines.jsonl"), [{"note": f"a{one}b"} for one in SEPARATORS]
    kept.append(said)
    assert kept.documents() == said


def test_what_does_not_fit_leaves_nothing_behind(tmp_path, monkeypatch):
    kept = LineFile(tmp_path / "lines.jsonl")
    kept.append([{"n": 1}])
    before = kept.path.read_bytes()
    for room in range(len(before)):
        with monkeypatch.context() as patched:
            patched.setattr(os, "write", short(room))
            with pytest.raises(StoreError):
                kept.append([{"n": 2}])
        assert kept.path.read_bytes() == before


def test_a_line_that_cannot_be_synced_is_taken_back(tmp_path, monkeypatch):
    def failing(file):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    kept = LineFile(tmp_path / "lines.jsonl")
    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(StoreError):
        kept.append([{"n": 1}])
    assert kept.documents() == []


def test_a_torn_line_was_never_acknowledged(tmp_path):
    kept, line = LineFile(tmp_path / "lines.jsonl"), line_of({"n": 2, "note": "x" * 70_000})
    for cut in (*range(1, 40), 65_600, len(line) - 2, len(line) - 1):
        kept.path.unlink(missing_ok=True)
        kept.append([{"n": 1}])
        with kept.path.open("ab") as file:
            file.write(line[:cut])
        there = [{"n": 1}] + [{"n": 2, "note": "x" * 70_000}] * (cut == len(line) - 1)
        assert kept.documents() == there
        kept.append([{"n": 3}])
        assert kept.documents() == [*there, {"n": 3}]


def test_every_changed_byte_is_noticed(tmp_path):
    kept, said = LineFile(tmp_path / "lines.jsonl"), [{"item": "a", "note": "ä"}, {"item": "b", "note": "{}"}]
    kept.append(said)
    whole = kept.path.read_bytes()
    for at in range(len(whole)):
        for byte in {whole[at] ^ 1, whole[at] ^ 128, 10, 32, 34, 125} - {whole[at]}:
            kept.path.write_bytes(whole[:at] + bytes([byte]) + whole[at + 1 :])
            try:
                found = [{name: one.get(name) for name in ("item", "note")} for one in kept.documents()]
            except StoreError:
                continue
            assert found == said


def test_a_line_added_by_hand_is_read(tmp_path):
    kept = LineFile(tmp_path / "lines.jsonl")
    kept.append([{"n": 1}])
    with kept.path.open("a") as file:
        file.write(json.dumps({"n": 2}) + "\r\n" + json.dumps({"n": 3}))  # no line feed at the end
    kept.append([{"n": 4}])
    assert [one["n"] for one in kept.documents()] == [1, 2, 3, 4]


def test_a_log_has_lines_whole(tmp_path, monkeypatch):
    log = tmp_path / "run.log"
    append_line(log, "one")
    monkeypatch.setattr(os, "write", short(2))
    with pytest.raises(OSError, match="space"):
        append_line(log, "two")
    assert log.read_text() == "one\n"


def test_a_replaced_file_is_on_the_disk_before_it_counts(tmp_path, monkeypatch):
    done = []
    sync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda file: (done.append("sync"), sync(file)))

    def replacing(source, target, **how):
        done.append("replace")
        replace(source, target)

    monkeypatch.setattr(os, "replace", replacing)
    replace_text(tmp_path / "kept.json", "{}")
    assert done == ["sync", "replace", "sync"]
    assert [file.name for file in tmp_path.iterdir()] == ["kept.json"]


def test_a_refused_lock_is_no_other_process(tmp_path, monkeypatch):
    def refused(file, how):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    with locked(tmp_path / ".lock") as first, locked(tmp_path / ".lock") as second:
        assert (first, second) == (True, False)
    monkeypatch.setattr(fcntl, "flock", refused)
    with pytest.raises(PermissionError), locked(tmp_path / ".lock"):
        pass
