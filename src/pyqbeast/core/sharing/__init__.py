"""What other readers of a table see, and which commands help where they would see something wrong."""
