"""vLLM in a worker on real Ray (make test-vllm): the answers of the engine in one process."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from tests.extras import needs
from tests.studies import written

pytestmark = needs("vllm", "ray")

STUDY = """\
task: {{labels: [greeting, other]}}
items: {{source: items.csv, id: id, text: "{{{{ text }}}}"}}
prompt: {{instruction: Is this a greeting or something else?}}
decoding: {{warm: {{temperature: 1, repeats: 3, max_tokens: 4}}, greedy: {{temperature: 0, max_tokens: 4}}}}
models: [{{name: small, use: vllm, model: "{model}", dtype: float32, context: 256}}]
"""
ITEMS = 'id,text\n1,"Hello there, how are you?"\n2,The invoice is overdue.\n3,Good morning!\n'


def answers(folder: Path, *where: str) -> list[tuple[str, str, int, str]]:
    from tests.local_engines import unpacked_smollm2

    study = written(folder, STUDY.format(model=unpacked_smollm2()), ITEMS)
    done = subprocess.run(
        [sys.executable, "-m", "quaver", "run", str(study), *where],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    with closing(sqlite3.connect(folder / "responses.db")) as db:
        return db.execute(
            "SELECT item, decoding, repeat, text FROM answers ORDER BY item, decoding, repeat"
        ).fetchall()


def test_a_worker_answers_as_the_engine_in_one_process(tmp_path: Path) -> None:
    here = answers(tmp_path / "here")
    there = answers(tmp_path / "there", "--on", "ray", "--workers", "1")
    assert len(here) == 12
    assert there == here
