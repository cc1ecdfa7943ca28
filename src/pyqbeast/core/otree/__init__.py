"""The tree of cubes: built from a sample, laid out in files, kept whole, measured and checked."""
