"""The template for GitLab CI: its script, run for real, with a stand-in for GitLab."""

import json
import os
import shutil
import subprocess
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlparse

import pytest
from junitparser import JUnitXml
from ruamel.yaml import YAML
from tests import forked
from tests.test_action import EXAMPLE, RULE

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="the template writes notes with curl")
NOTES = "/api/v4/projects/3/merge_requests/5/notes"


class GitLab:
    """The notes of a merge request, behind GitLab's API."""

    def __init__(self):
        self.notes = [{"id": 1, "body": "Nice."}]
        self.tokens = set()
        gitlab = self

        class Api(BaseHTTPRequestHandler):
            def do_GET(self):
                self._answer(gitlab.notes)

            def do_POST(self):
                gitlab.notes.append({"id": 10 + len(gitlab.notes), "body": self._body()})
                self._answer(gitlab.notes[-1], 201)

            def do_PUT(self):
                number = int(urlparse(self.path).path.rpartition("/")[2])
                (one,) = [note for note in gitlab.notes if note["id"] == number]
                one["body"] = self._body()
                self._answer(one)

            def _body(self):
                sent = self.rfile.read(int(self.headers["Content-Length"])).decode()
                return parse_qs(sent, keep_blank_values=True)["body"][0]

            def _answer(self, document, status=200):
                gitlab.tokens.add(self.headers.get("PRIVATE-TOKEN"))
                assert urlparse(self.path).path.startswith(NOTES)
                self.send_response(status)
                self.end_headers()
                self.wfile.write(json.dumps(document).encode())

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
        Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def gitlab():
    made = GitLab()
    yield made
    made.server.shutdown()


def run(checkout, gitlab, source):
    """The template's script, with the variables of the example's job."""
    template = YAML(typ="safe").load((EXAMPLE / "quaver.gitlab-ci.yml").read_text())[".quaver"]
    own = YAML(typ="safe").load((EXAMPLE / ".gitlab-ci.yml").read_text())["prompts"]
    (script,) = template["script"]
    port = gitlab.server.server_address[1]
    variables = {
        **template["variables"],
        **own["variables"],
        "CI_PIPELINE_SOURCE": source,
        "CI_API_V4_URL": f"http://127.0.0.1:{port}/api/v4",
        "CI_PROJECT_ID": "3",
        "CI_MERGE_REQUEST_IID": "5" if source == "merge_request_event" else "",
        "QUAVER_GITLAB_TOKEN": "glpat-secret",
        "PATH": f"{forked.path_of_commands()}{os.pathsep}{os.environ['PATH']}",
    }
    return subprocess.run(
        ["bash", "-c", script],
        cwd=checkout,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.long
def test_a_merge_request_is_compared_with_the_default_branch_in_one_note(tmp_path, gitlab):
    checkout = tmp_path / "checkout"
    shutil.copytree(EXAMPLE, checkout)
    done = run(checkout, gitlab, "merge_request_event")
    assert (done.returncode, "default branch" in done.stdout) == (2, True)  # no baseline yet
    done = run(checkout, gitlab, "push")
    assert done.returncode == 0, done.stdout
    assert (checkout / "main.quaver.zip").exists()

    study = checkout / "prompts" / "tickets.yaml"
    study.write_text(study.read_text().replace(RULE, ""))
    done = run(checkout, gitlab, "merge_request_event")
    assert done.returncode == 1, done.stdout
    (suite,) = JUnitXml.fromstring((checkout / "quaver.xml").read_bytes())
    assert suite.failures >= 1
    nice, note = gitlab.notes
    assert nice["body"] == "Nice."
    assert (checkout / "quaver.md").read_text() in note["body"]
    assert "Fails: " in note["body"]

    study.write_text(study.read_text().replace("about?", "about? Anything with money is billing."))
    done = run(checkout, gitlab, "merge_request_event")
    assert done.returncode == 0, done.stdout
    assert len(gitlab.notes) == 2
    assert "### Passes" in gitlab.notes[1]["body"]
    assert gitlab.tokens == {"glpat-secret"}
    assert "glpat-secret" not in done.stdout


def test_the_job_keeps_the_folder_and_shows_the_tests():
    template = YAML(typ="safe").load((EXAMPLE / "quaver.gitlab-ci.yml").read_text())[".quaver"]
    assert "$QUAVER_FOLDER/responses.*" in template["cache"]["paths"]
    assert template["artifacts"]["reports"] == {"junit": "quaver.xml"}
    assert template["artifacts"]["when"] == template["cache"]["when"] == "always"
