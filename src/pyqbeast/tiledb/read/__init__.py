"""An array opened and read: fragments, the cells that a box and a condition leave, and their order."""
