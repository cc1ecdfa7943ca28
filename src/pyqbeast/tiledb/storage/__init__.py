"""Where arrays lie: stores, the folder of an array, and the names of what is in it."""
