"""A write: looks at the rows, plans the tree and the files, and has Spark and Delta write them."""
