"""What pictures show, as plain data: gathered from the log and from a few rows, without Spark and without drawing."""
