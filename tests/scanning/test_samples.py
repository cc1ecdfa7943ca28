"""Samples of scans: which files and which parts of them are read, and whose rows count."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pyqbeast
from pyqbeast.core.errors import FormatError, StorageError, UnsupportedError
from pyqbeast.core.format.constants import TAG_PARTS
from pyqbeast.core.format.file_parts import FilePart, parts_tag
from pyqbeast.core.format.weight import weight_of
from pyqbeast.scanning import weighed_rows
from pyqbeast.scanning.row_weights import row_weights
from tests.deletion_vectors.tables import PROTOCOL, commit
from tests.scanning.tables import NUMBERS, by_weight, fields_of, ids, indexed_add, metadata


def test_only_the_file_that_a_sample_cuts_is_hashed(tmp_path, monkeypatch):
    """Of the others neither the indexed columns are read."""
    hashed, read = [], []
    truth, iter_batches = weighed_rows.row_weights, pq.ParquetFile.iter_batches

    def weights(columns):
        hashed.append(len(columns[0]))
        return truth(columns)

    def batches(parquet, *arguments, columns, **how):
        read.append(columns)
        return iter_batches(parquet, *arguments, columns=columns, **how)

    by_weight(tmp_path, NUMBERS, files=10)
    scan = pyqbeast.scan(tmp_path).sample(0.25).select(["text"])
    lighter = row_weights([NUMBERS["id"].chunk(0)]) < weight_of(0.25)
    wanted = sorted(NUMBERS.filter(pa.array(lighter))["text"].to_pylist())
    monkeypatch.setattr(weighed_rows, "row_weights", weights)
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", batches)
    assert sorted(scan.to_arrow()["text"].to_pylist()) == wanted
    assert hashed == [100]
    assert read == [["text"], ["text"], ["text", "id"]]


def parted(path, half):
    """A table of one file, whose second row group begins with the first row that is not lighter than a weight."""
    weights = row_weights([NUMBERS["id"].chunk(0)])
    is_light = weights < half
    rows = pa.concat_tables([NUMBERS.filter(pa.array(is_light)), NUMBERS.filter(pa.array(~is_light))])
    file = path / "a.parquet"
    entry = indexed_add(
        file, rows, int(weights.min()), heaviest=int(weights.max()), row_group_size=int(is_light.sum())
    )
    begin = pq.read_metadata(file).row_group(1).column(0).dictionary_page_offset
    part = FilePart(begin, int(weights[is_light].max()), int(weights[~is_light].min()))
    entry["add"]["tags"][TAG_PARTS] = parts_tag([part])
    commit(path, 0, PROTOCOL, metadata(fields_of(NUMBERS.schema)), entry)
    return weights, begin


def test_of_a_file_with_parts_a_sample_reads_those_that_it_needs(tmp_path):
    weights, begin = parted(tmp_path, weight_of(0.5))
    scan = pyqbeast.scan(tmp_path)
    fractions = (0.3, 0.5, 0.51, 0.9)
    wanted = [NUMBERS.filter(pa.array(weights < weight_of(each)))["id"].to_pylist() for each in fractions]
    for fraction, rows in zip(fractions, wanted, strict=True):
        sample = scan.sample(fraction)
        assert ids(sample) == rows
        assert sorted(sample.to_dataset().to_table()["id"].to_pylist()) == rows
    whole = (tmp_path / "a.parquet").read_bytes()
    end = pq.read_metadata(tmp_path / "a.parquet").row_group(1).column(1).data_page_offset
    (tmp_path / "a.parquet").write_bytes(whole[:begin] + bytes(end - begin) + whole[end:])
    for fraction, rows in zip(fractions[:2], wanted, strict=False):
        assert ids(scan.sample(fraction)) == rows
    with pytest.raises((FormatError, StorageError), match=r"a\.parquet"):
        scan.sample(fractions[2]).to_arrow()


def test_the_weight_of_a_block_is_not_taken_for_that_of_its_rows(tmp_path):
    """Other writers say by it only which rows they left to a cube."""
    weights = row_weights([NUMBERS["id"].chunk(0)])
    in_first = (weights < weight_of(0.2)) | (np.arange(len(weights)) % 200 == 0)
    first = indexed_add(tmp_path / "a", NUMBERS.filter(pa.array(in_first)), highest=weight_of(0.2))
    second = indexed_add(tmp_path / "b", NUMBERS.filter(pa.array(~in_first)), weight_of(0.2))
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(NUMBERS.schema)), first, second)
    wanted = NUMBERS.filter(pa.array(weights < weight_of(0.25)))["id"].to_pylist()
    scan = pyqbeast.scan(tmp_path).sample(0.25)
    assert ids(scan) == wanted
    assert sorted(scan.to_dataset().to_table()["id"].to_pylist()) == wanted


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_fractions_of_numpy(golden, kind):
    """They are the numbers that they stand for, and computed with as such: halves overflow on the way to a weight."""
    scan = pyqbeast.scan(golden("qbeast/a_linear2d") / "table")
    fraction = kind(0.1)
    assert 0 < len(ids(scan.sample(fraction))) < len(ids(scan)) / 5
    assert ids(scan.sample(fraction)) == ids(scan.sample(float(fraction)))


def test_samples_that_no_weight_stands_for(tmp_path):
    entry = indexed_add(tmp_path / "a.parquet", NUMBERS)
    entry["add"]["tags"]["pyqbeast.keyRows"] = '{"write":"w","rows":101}'
    commit(tmp_path, 0, PROTOCOL, metadata(fields_of(NUMBERS.schema)), entry)
    scan = pyqbeast.scan(tmp_path)
    with pytest.raises(UnsupportedError, match=r"one key may hold 0\.1 of the rows"):
        scan.sample(0.05)
    assert 100 < scan.sample(0.2).to_arrow().num_rows < 300
    fields = fields_of(NUMBERS.schema)
    fields[0]["name"] = "other"
    commit(tmp_path, 1, metadata(fields))
    with pytest.raises(UnsupportedError, match="no column 'id'"):
        pyqbeast.scan(tmp_path).sample(0.5)
