"""What lies in a table's log, to the letter: constants, cube ids, weights, types, and the texts of tags."""
