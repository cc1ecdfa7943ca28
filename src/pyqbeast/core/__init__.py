"""The Qbeast format itself: cube ids, weights, transformations, revisions, blocks and the tree.

Pure Python and NumPy. Nothing in here imports Spark or another package of pyqbeast, so that everything that has
to agree with other implementations to the bit can be read and tested without a JVM.
"""
