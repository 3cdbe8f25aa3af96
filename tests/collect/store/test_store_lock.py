"""One process at a time, and a folder that cannot be written."""

import os
import signal
import time

import pytest

from quaver.collect.store.store_lock import ask_to_stop, sole_writer, stopping, who_collects
from quaver.core.replaced_file import writing
from quaver.errors import StoreError


def test_the_holder_says_who_it_is_and_leaves_no_trace(tmp_path):
    with sole_writer(tmp_path):
        assert (tmp_path / ".run.pid").read_text() == str(os.getpid())
        with pytest.raises(StoreError) as caught, sole_writer(tmp_path):
            pass
        assert caught.value.found == f"process {os.getpid()}"
    assert not (tmp_path / ".run.pid").exists()
    with sole_writer(tmp_path):
        pass


def test_a_folder_is_let_go_after_an_error(tmp_path):
    with pytest.raises(ZeroDivisionError), sole_writer(tmp_path):
        raise ZeroDivisionError
    with sole_writer(tmp_path):
        pass


def test_what_the_system_says_is_a_store_error(tmp_path):
    with pytest.raises(StoreError, match="cannot be written") as caught, writing(tmp_path):
        raise OSError(28, os.strerror(28))
    assert caught.value.found == os.strerror(28)
    assert caught.value.where == str(tmp_path)


def test_who_collects_holds_the_lock(tmp_path):
    """A process whose number stands there from before is a stranger, however alive it is."""
    (tmp_path / ".run.pid").write_text(str(os.getpid()))
    assert who_collects(tmp_path) is None
    with sole_writer(tmp_path):
        assert who_collects(tmp_path) == os.getpid()
    assert who_collects(tmp_path) is None


def test_a_run_stops_when_it_is_asked_to(tmp_path):
    ask_to_stop(tmp_path)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it

    def run():
        with stopping(tmp_path):
            time.sleep(0.5)  # what was asked of a run before is not asked of this one
            ask_to_stop(tmp_path)
            for _ in range(1000):  # one long sleep would go on: the signal is raised beside it
                time.sleep(0.01)

    try:
        with pytest.raises(KeyboardInterrupt):
            run()
    finally:
        signal.signal(signal.SIGINT, before)
