"""What a query opens, scan by scan: the figures, and the page that tells people of them and of what would help."""
