"""What a reviewer finds in a bundle: a README that tells what to do, and a report that is whole."""

import re
import subprocess
import sys
import zipfile
from html.parser import HTMLParser

import pytest
from tests.bundles.test_packing import TEXTS, made, packed

import quaver
from quaver.bundles.verification import verify

__all__ = ["made", "packed"]


def readme(path):
    with zipfile.ZipFile(path) as archive:
        return archive.read("README.md").decode()


@pytest.mark.long
@pytest.mark.parametrize("texts", [True, False])
def test_it_names_every_file_and_measure(packed, texts):
    path, _ = packed[texts]
    text = readme(path)
    with zipfile.ZipFile(path) as archive:
        for name in set(archive.namelist()) - {"README.md"}:
            assert f"`{name}`" in text
    for measure in {one.measure for one in quaver.Study.open(path).estimates() if one.value is not None}:
        assert f"| `{measure}` |" in text
    assert not verify(path).differs


def test_it_says_what_was_left_out(packed):
    path, _ = packed[False]
    assert f"{verify(path).withheld} answers that quote a text were withheld" in readme(path)
    assert "[left out]" in readme(path)
    assert not any(text in readme(path) for text in TEXTS)
    assert "[left out]" not in readme(packed[True][0])


def test_its_check_needs_no_quaver(packed, tmp_path):
    path, digest = packed[True]
    (code,) = re.findall(r"```python\n(.*?)```", readme(path), re.DOTALL)
    (tmp_path / "check.py").write_text(code)

    def checked(archive):
        command = [sys.executable, "-I", str(tmp_path / "check.py"), str(archive)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert f"digest {digest}" in checked(path)
    assert "CHANGED" not in checked(path)
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(tmp_path / "other.zip", "w") as target:
        for name in source.namelist():
            content = source.read(name)
            target.writestr(name, content + b"\n" if name == "estimates.csv" else content)
    assert "CHANGED estimates.csv" in checked(tmp_path / "other.zip")


class _Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.ids = set()
        self.links = []

    def handle_starttag(self, tag, attrs):
        found = {name: value or "" for name, value in attrs}
        self.ids.add(found.get("id", ""))
        self.links += [found[name] for name in ("href", "src", "xlink:href") if name in found]


@pytest.mark.parametrize("texts", [True, False])
def test_the_report_needs_no_other_file(packed, texts):
    with zipfile.ZipFile(packed[texts][0]) as archive:
        page = archive.read("report.html").decode()
    parser = _Links()
    parser.feed(page)
    assert parser.links
    for link in parser.links:
        assert link.startswith("data:") or link.removeprefix("#") in parser.ids, link
    assert any(text in page for text in TEXTS) is texts
