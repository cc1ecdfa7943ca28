"""The Qbeast format itself, in rooms one above the other.

- `format`: what lies in a table's log: constants, cube ids, weights, types, the texts of tags.
- `transform`: from a column's values to coordinates.
- `revisions`: the state of an index, and how it follows its data.
- `otree`: the tree of cubes: built, laid out in files, measured and checked.
- `sampling`: which rows a sample takes.
- `explanation`: what a query opens, and why.
- `sharing`: what other readers of a table see, and what helps.

Pure Python and NumPy. Nothing in here imports Spark or another package of pyqbeast, so that everything that has
to agree with other implementations to the bit can be read and tested without a JVM.
"""
