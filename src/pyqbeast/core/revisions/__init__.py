"""A revision, which is the state of an index at a point in time, and the next one that new data asks for."""
