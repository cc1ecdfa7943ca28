"""Which rows a sample takes: their weights, and the weight that stands for a fraction of a table's rows."""
