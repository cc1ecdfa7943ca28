"""What is settled before Spark starts: which settings the session has already, and what its JVM prints."""
