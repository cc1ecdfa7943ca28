"""Arrays made and written: cells laid out in tiles, files of a fragment, commits."""
