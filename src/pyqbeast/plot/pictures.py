"""Pages and images of tables and arrays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pyqbeast.approximate.estimate.outcome import Outcome
from pyqbeast.core.errors import InvalidInputError, StorageError, TableNotFoundError
from pyqbeast.core.extras import of_extra
from pyqbeast.core.html import escaped
from pyqbeast.core.location import Location, local_file
from pyqbeast.delta_log import locations
from pyqbeast.plot.gather.array import ArrayPicture, gather_array
from pyqbeast.plot.gather.table import TablePicture, gather_table

_PURPOSE = "pictures"
#: What `image` draws, by the ending of a file.
_IMAGES = (".png", ".svg")


@dataclass(frozen=True)
class Page:
    """A page in one file, which loads nothing from anywhere. A notebook shows it.

    Attributes:
        html: its text.
    """

    html: str = field(repr=False)

    def save(self, target: Location) -> None:
        """Writes the page to a file.

        Raises:
            InvalidInputError: `target` is neither a path nor a URL of this machine.
            StorageError: it cannot be written.
        """
        _write(target, self.html.encode())

    def _repr_html_(self) -> str:
        frame = 'width="100%" height="900" style="border: 0" title="A picture by pyqbeast"'
        return f'<iframe {frame} srcdoc="{escaped(self.html)}"></iframe>'


def page(
    path: Location,
    target: Location | None = None,
    *,
    version: int | None = None,
    estimates: Outcome | Iterable[Outcome] = (),
    storage_options: locations.Options = None,
) -> Page:
    """A page to explore an indexed table or a TileDB array with. Needs `pyqbeast[plot]`, and neither Spark nor Java.

    It is drawn from the log and from about two thousand rows of the lowest weights.

    Args:
        path: a local path or the URL of a store that fsspec knows.
        target: a file to write the page to.
        version: of a table; by default the newest. This and all that follows is for tables, not for arrays.
        estimates: what `pyqbeast.refine` gives step by step for a query of the table, or `pyqbeast.tolerance` or
            `Scan.tolerance` once: how its bounds shrank.
        storage_options: keywords for fsspec, such as credentials. They go to the table's own store and to no other one
            that its log names.

    Raises:
        TableNotFoundError: there is neither a table nor an array.
        NotIndexedError: there is a table, and it is not indexed.
        InvalidInputError: the table has no such version, the target ends in .png or .svg, or something is given that
            arrays do not have.
        StorageError: the page cannot be written.
        MissingPackageError: Bokeh is not installed.
        QbeastError: log or files cannot be read.
    """
    if target is not None and local_file(target).suffix.lower() in _IMAGES:
        raise InvalidInputError(f"a page is HTML and is not written to {target}: `image` draws that")
    of_extra("plot", "bokeh", _PURPOSE)
    from pyqbeast.plot.draw.array_page import array_page
    from pyqbeast.plot.draw.page import page_html
    from pyqbeast.plot.draw.table_page import table_page

    picture = _gathered(path, version, estimates, storage_options)
    drawn = table_page(picture) if isinstance(picture, TablePicture) else array_page(picture)
    made = Page(page_html(drawn))
    if target is not None:
        made.save(target)
    return made


def image(
    path: Location,
    target: Location,
    *,
    version: int | None = None,
    storage_options: locations.Options = None,
) -> None:
    """An image of an indexed table or a TileDB array for a report: PNG or SVG, as the ending of `target` says.

    Needs `pyqbeast[plot]`, and neither Spark nor Java. Arguments are those of `page`.

    Raises:
        InvalidInputError: another ending, no such version, or something that arrays do not have.
        StorageError: the image cannot be drawn for want of its fonts, or not be written.
        MissingPackageError: Matplotlib is not installed.
        QbeastError: as `page`.
    """
    kind = local_file(target).suffix.lower()
    if kind not in _IMAGES:
        raise InvalidInputError(f"an image is written to a file that ends in .png or .svg, not to {target}")
    of_extra("plot", "matplotlib", _PURPOSE)
    from pyqbeast.plot.draw.image import image_bytes

    picture = _gathered(path, version, (), storage_options)
    try:
        drawn = image_bytes(picture, kind[1:])
    # Matplotlib opens fonts as it draws.
    except OSError as error:
        raise StorageError(f"the image of {path} cannot be drawn: {error}") from error
    _write(target, drawn)


def _gathered(
    path: Location,
    version: int | None,
    estimates: Outcome | Iterable[Outcome],
    storage_options: locations.Options,
) -> TablePicture | ArrayPicture:
    try:
        return gather_table(path, version, estimates, storage_options)
    except TableNotFoundError:
        try:
            picture = gather_array(path)
        except TableNotFoundError as error:
            raise TableNotFoundError(
                f"there is neither a Delta table nor a TileDB array at {path}: it has no _delta_log and no __schema"
            ) from error
    given = {
        "version": version is not None,
        "estimates": bool(estimates),
        "storage_options": bool(storage_options),
    }
    for name, is_given in given.items():
        if is_given:
            raise InvalidInputError(f"{path} is a TileDB array, and {name} is for tables: leave it out")
    return picture


def _write(target: Location, data: bytes) -> None:
    file = local_file(target)
    try:
        file.write_bytes(data)
    # Python raises ValueError for a NUL character in a path.
    except (OSError, ValueError) as error:
        raise StorageError(f"the picture cannot be written to {target}: {error}") from error
