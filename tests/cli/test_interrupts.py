"""Ctrl-C while a server leaves every answer open: the command says so at once, and ends by itself."""

import signal
import subprocess
import sys
import threading

import pytest
from tests.cli.commands import environment
from tests.stance_server import stance_server
from tests.start.walk import REFORM

pytestmark = pytest.mark.long

CHECK = ("check", "reform.xlsx", "--labels", "favor, against, none", "--model", "openai/gpt-5-mini", "--yes")


class Gate(threading.Event):
    """Keeps answers back until it is opened; ``asked`` is set once a request has come."""

    def __init__(self):
        super().__init__()
        self.asked = threading.Event()

    def wait(self, timeout=None):
        self.asked.set()
        return super().wait(timeout)


@pytest.fixture
def begun(tmp_path):
    """Begins a command in a folder with a table; the server opens its gate when the test is over."""
    (tmp_path / REFORM.name).write_bytes(REFORM.read_bytes())
    servers = []

    def begin(*arguments, answers=False):
        gate = Gate()
        if answers:
            gate.set()
        server = stance_server(gate=gate)
        url = server.__enter__()
        servers.append((server, gate))
        own = {**environment(), "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "k"}
        command = [sys.executable, "-m", "quaver", *arguments]
        return gate, subprocess.Popen(
            command, cwd=tmp_path, env=own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    yield begin
    for server, gate in servers:
        gate.set()
        server.__exit__(None, None, None)


def interrupted(gate, process):
    """What a command writes after Ctrl-C, once its first request has come; no answer ever does."""
    assert gate.asked.wait(240)
    process.send_signal(signal.SIGINT)
    try:
        written, _ = process.communicate(timeout=60)  # the server would hold it for 120 seconds
    finally:
        process.kill()
    assert process.returncode == 130, written
    assert "Traceback" not in written
    return written.partition("Stopping")[1:]


@pytest.mark.parametrize("then", ["check", "run", "label"])
def test_a_command_that_waits_for_a_server_ends_by_itself(begun, then):
    if then == "label":
        _, first = begun(*CHECK, "--n", "10", "--prompts", "4", answers=True)
        assert first.wait(240) == 0
    elif then == "run":
        interrupted(*begun(*CHECK))
    asked = {
        "check": CHECK,
        "run": ("run", "reform-check"),
        "label": ("label", "reform.xlsx", "--check", "reform-check", "--yes"),
    }
    stopping, rest = interrupted(*begun(*asked[then]))
    assert stopping
    assert "run the same command to continue" in rest


def test_a_command_that_is_loading_ends_without_a_traceback(tmp_path):
    code = "import signal, sys; sys.meta_path.insert(0, type('Press', (), {'find_spec': staticmethod("
    code += "lambda name, *_: signal.raise_signal(signal.SIGINT) if name == 'typer' else None)})())\n"
    code += "from quaver.__main__ import main; main()"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment())
    assert (ended.returncode, ended.stderr) == (130, "")
