"""Pictures are labelled in the browser: a ZIP file goes in, and a labelled table comes out."""

import base64
import io
import zipfile
import zlib

import pytest
from tests.chromium import assert_accessible, browser
from tests.local_engines import JsonServer
from tests.pictures import png
from tests.start.started import started
from tests.start.walk import Walk

from quaver.design.items.table_files import read_rows
from quaver.errors import ItemError
from quaver.start.uploaded_archive import table_with_pictures, unpacked_pictures

__all__ = ["browser"]

SHADES = range(5, 245, 20)


def packed(files):
    """A ZIP file."""
    with zipfile.ZipFile(made := io.BytesIO(), "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


def shown():
    """A folder's pictures, and a table of them of which people labelled some."""
    table = ["file,hand_label"]
    table += [f"pics/{one}.png,{truth(one) if at % 3 else ''}" for at, one in enumerate(SHADES)]
    pictures = {f"shades/pics/{one}.png": png(40, 30, one) for one in SHADES}
    hidden = {"__MACOSX/shades/._shades.csv": b"x", "../outside.png": png(), "shades/notes.txt": b"x"}
    return packed({"shades/shades.csv": "\n".join(table).encode(), **pictures, **hidden})


def truth(shade):
    return "light" if shade > 120 else "dark"


def sees(path, body):
    """A server that looks at the first byte of the picture that it is sent."""
    if body is None:
        return {"data": [{"id": "gpt-5-mini"}]}
    parts = body["messages"][-1]["content"]
    (url,) = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    shade = zlib.decompress(base64.b64decode(url.partition(",")[2])[41:-16])[1]
    message = {"role": "assistant", "content": truth(shade)}
    return {"choices": [{"index": 0, "finish_reason": "stop", "message": message}]}


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"a.png": png()}, "none"),
        ({"a.png": png(), "a.csv": b"file\na.png\n", "b.csv": b"x"}, "a.csv, b.csv"),
    ],
)
def test_an_archive_of_pictures_holds_one_table(files, found):
    with pytest.raises(ItemError, match=f"found: {found}"):
        table_with_pictures(packed(files))


def test_an_archive_without_pictures_is_a_packed_table():
    assert table_with_pictures(packed({"a.csv": b"text\nx\n"})) == ""


@pytest.mark.parametrize("cut", [b"", b"PK", shown()[:-30], shown()[:40] + shown()[60:]])
def test_a_damaged_archive_is_one_error(cut, tmp_path):
    with pytest.raises(ItemError, match="cannot be unpacked"):
        unpacked_pictures(cut, table_with_pictures(cut), tmp_path / "there")


def test_what_leads_out_of_the_folder_is_not_unpacked(tmp_path):
    content = shown()
    table = unpacked_pictures(content, table_with_pictures(content), tmp_path / "a" / "there")
    assert table == tmp_path / "a" / "there" / "shades" / "shades.csv"
    kept = {path.relative_to(table.parent).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert kept == {"shades.csv", *(f"pics/{one}.png" for one in SHADES)}


@pytest.mark.long
def test_pictures_from_an_archive_to_the_labelled_table(browser, tmp_path):
    pytest.importorskip("nicegui")
    server, there = JsonServer(sees), tmp_path / "there"
    there.mkdir()
    (tmp_path / "shades.zip").write_bytes(shown())
    with started(there, {"OPENAI_BASE_URL": f"{server.url}/v1"}) as address:
        walk = Walk(browser, address, reduced_motion="reduce", bypass_csp=True)
        walk.upload(tmp_path / "shades.zip")
        card = walk.page.locator(".qv-column", has_text="recognised: its cells name pictures")
        assert walk.page.get_by_label("What file is").locator("input").input_value() == "pictures"
        assert drawn(card.locator("img")) == [40] * 5
        assert_accessible(walk.page, "texts")
        walk.click("text=Next: the codebook")
        walk.at("codebook")
        assert drawn(walk.page.locator(".qv-preview img")) == [40]
        assert "picture" in walk.page.inner_text("pre.qv-prompt")
        walk.fill("textarea", "Is this picture light or dark?")
        assert_accessible(walk.page, "codebook")
        walk.click("text=Next: the model")
        walk.at("model")
        walk.to_the_verdict()
        walk.click("button:has-text('Label all pictures')")
        walk.at("labels")
        if walk.page.locator("text=Label even though").count():
            walk.click("text=Label even though")
        walk.click("text=Prepare the labels")
        walk.click("button:has-text('Write the labelled table')")
        walk.page.locator(".qv-files").wait_for(timeout=180_000)
        walk.note_commands()
        walk.context.close()
    server.close()
    assert walk.wrong == []
    (rows,) = [read_rows(path) for path in there.rglob("*-labelled.csv")]
    assert [row.text("label") for row in rows] == [truth(shade) for shade in SHADES]
    assert any("check shades/shades/shades.csv" in line for line in walk.typed)


def drawn(images):
    """The width of each picture, in pixels, once it is there."""
    images.first.wait_for()
    return images.evaluate_all(
        "ones => Promise.all(ones.map(one => one.decode().then(() => one.naturalWidth)))"
    )
