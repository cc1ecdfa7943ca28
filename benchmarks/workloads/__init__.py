"""One module a workload. Its function `cases` declares what is asked, and of whom; `suite` runs it."""
