"""What `verify` checks in a table's log and in what storage lists: no Spark, and no data file is opened."""
