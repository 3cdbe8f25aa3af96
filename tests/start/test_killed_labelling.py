"""Killed on the page on labels, asking goes on; a key that a keyring keeps is in no file of the studies."""

import signal
from threading import Event

import pytest
from tests.chromium import browser
from tests.stance_server import stance_server
from tests.start.started import begun
from tests.start.walk import Walk

__all__ = ["browser"]

pytestmark = pytest.mark.long
pytest.importorskip("nicegui")
pytest.importorskip("keyring")

SECRET = "sk-planted-7cQ2-7cQ2-7cQ2"
RING = '''
import os, pathlib
from keyring.backend import KeyringBackend

class Ring(KeyringBackend):
    """A keyring whose secrets are files of a folder."""
    priority = 1
    def _file(self, service, name):
        return pathlib.Path(os.environ["RING"], f"{service}-{name}")
    def get_password(self, service, name):
        file = self._file(service, name)
        return file.read_text() if file.exists() else None
    def set_password(self, service, name, secret):
        self._file(service, name).write_text(secret)
'''


def test_killed_on_the_page_on_labels_it_goes_on_with_the_kept_key(browser, reform, tmp_path):
    ring, folder = tmp_path / "ring", tmp_path / "studies"
    ring.mkdir()
    folder.mkdir()
    (ring / "folder_ring.py").write_text(RING)
    environment = {"PYTHON_KEYRING_BACKEND": "folder_ring.Ring", "PYTHONPATH": str(ring), "RING": str(ring)}
    gate = Event()
    gate.set()
    with stance_server(gate=gate) as server:
        environment["OPENAI_BASE_URL"] = server
        with begun(folder, environment) as (address, process):
            walk = Walk(browser, address)
            walk.upload(reform)
            walk.to_the_model()
            walk.click("text=Another model")
            walk.fill("[aria-label^='Name of the model']", "stance")
            walk.fill("[aria-label^='Address']", server)
            walk.fill("[aria-label^='Key']", SECRET)
            walk.click("text=Keep the key")
            walk.click("text=Use this model")
            walk.page.locator("code:has-text('--model stance')").wait_for()
            walk.at("model")
            walk.to_the_verdict()
            walk.click("button:has-text('Label all texts')")
            walk.at("labels")
            walk.click("text=Prepare the labels")
            gate.clear()
            walk.click("button:has-text('Ask ')")
            walk.page.locator(".qv-run").wait_for()
            while not (folder / "reform-check" / "study.labels" / ".run.pid").exists():
                walk.page.wait_for_timeout(100)
            process.send_signal(signal.SIGKILL)
            walk.context.close()
        assert any(SECRET in path.read_text() for path in ring.glob("*KEY_127_0_0_1*"))
        with begun(folder, environment) as (address, _):
            walk = Walk(browser, address)
            walk.page.goto(f"{address}study/reform-check/labels")
            walk.page.locator(".qv-run").wait_for()  # who asks was not killed, and is followed at once
            gate.set()
            walk.click("text=Write the labelled table")
            walk.page.locator(".qv-files").wait_for()
            walk.context.close()
        assert walk.wrong == []
    for path in folder.rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path
