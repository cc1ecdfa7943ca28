"""Tables where they really live: on HDFS (`make test-hdfs`) and on S3 (`make test-s3`), started here on loopback."""
