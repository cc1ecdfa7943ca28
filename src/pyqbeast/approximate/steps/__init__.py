"""Reading the rows of a query in steps of ascending weight until its answer is good enough.

`progress` holds the sums of the rows read so far and what they tell, `planning` says which rows may be read next,
`loop` decides which of them are and when to stop. Whoever reads rows writes a `row_reader.RowReader`: Spark does so in
`pyqbeast.approximate.query_rows`, and `pyqbeast.scanning.scan_rows` without Spark.
"""
