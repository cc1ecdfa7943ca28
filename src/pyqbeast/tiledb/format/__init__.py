"""What an array's files hold, to the byte: schemas, footers, tiles, statistics, columns of values."""
