"""Files of R, however R packs them: what they hold is counted before it is read."""

import bz2
import gzip
import lzma

import polars as pl
import pytest

from quaver.design.items import statistics_files
from quaver.errors import QuaverError

PACKED = {"plain": bytes, "gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}


@pytest.fixture(params=PACKED)
def packed(request, tmp_path):
    pyreadr = pytest.importorskip("pyreadr")
    path = tmp_path / "t.rds"
    pyreadr.write_rds(str(path), pl.DataFrame({"text": ["a text"] * 50}), compress="gzip")
    path.write_bytes(PACKED[request.param](gzip.decompress(path.read_bytes())))
    return path


def test_each_way_is_read(packed):
    assert statistics_files._read_r(packed)["text"].to_list() == ["a text"] * 50


def test_what_is_unpacked_is_counted(packed, monkeypatch):
    monkeypatch.setattr(statistics_files, "MOST_BYTES", 400)
    with pytest.raises(QuaverError) as caught:
        statistics_files._read_r(packed)
    assert "400" in str(caught.value)


def test_half_a_file_is_one_clear_error(packed):
    packed.write_bytes(packed.read_bytes()[:60])
    with pytest.raises(QuaverError, match="a single data frame"):
        statistics_files._read_r(packed)
