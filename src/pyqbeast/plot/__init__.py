"""Pictures of indexed tables and of TileDB arrays: a page to explore, and images for reports. Needs no Spark."""

from pyqbeast.plot.pictures import Page, image, page

__all__ = ["Page", "image", "page"]
