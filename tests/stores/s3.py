"""A server of S3 on this machine: S3Mock, which is one jar of Maven Central and keeps objects in a folder."""

from __future__ import annotations

import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pyqbeast.bridge.start import maven
from tests.machine import free_port
from tests.stores.java_server import JavaServer

BUCKET = "tables"
#: The server takes any.
KEY, SECRET = "key", "secret"
_LOCK = maven.read_lock(Path(__file__).resolve().parent / "s3_jars.lock")


class Request(NamedTuple):
    """What the server was asked for, and how many bytes it answered."""

    method: str
    path: str
    query: str
    bytes: int

    @property
    def is_listing(self) -> bool:
        """Whether it asked which objects there are."""
        return self.method == "GET" and ("list-type" in self.query or self.path.strip("/") == BUCKET)


class S3(JavaServer):
    """A server with one empty bucket, and what it was asked for."""

    def __init__(self, folder: Path) -> None:
        jars = {where: maven.fetch(where, checksum) for where, checksum in _LOCK.items()}
        (server,) = [jar for where, jar in jars.items() if "s3mock" in where]
        #: What Spark needs to reach S3.
        self.jars = [jar for jar in jars.values() if jar != server]
        port, secure = free_port(), free_port()
        self.endpoint = f"http://127.0.0.1:{port}"
        self._logs = folder / "logs"
        mock = "--com.adobe.testing.s3mock"
        log = "--server.tomcat.accesslog"
        command = [
            *("-jar", str(server), f"--server.port={secure}", f"{mock}.httpPort={port}"),
            *(f"{mock}.store.root={folder / 's3'}", f"{mock}.store.initial-buckets={BUCKET}"),
            *(f"{log}.enabled=true", f"{log}.buffered=false", f"{log}.directory={self._logs}"),
            f"{log}.pattern=%m %U ?%q %B",
        ]
        super().__init__(folder / "s3.log", command)
        self.wait_until(lambda: _answers(self.endpoint))

    def settings(self) -> Mapping[str, str]:
        """How Spark reaches the server."""
        s3a = "spark.hadoop.fs.s3a"
        return {
            "spark.jars": ",".join(map(str, self.jars)),
            f"{s3a}.endpoint": self.endpoint,
            f"{s3a}.endpoint.region": "us-east-1",
            f"{s3a}.path.style.access": "true",
            f"{s3a}.access.key": KEY,
            f"{s3a}.secret.key": SECRET,
            # The default keeps what it has read in memory, and its requests cannot be counted.
            f"{s3a}.input.stream.type": "classic",
        }

    def requests(self) -> list[Request]:
        """All requests so far."""
        found = []
        for log in sorted(self._logs.glob("*")):
            for line in log.read_text().splitlines():
                method, path, query, size = line.split(" ")
                found.append(Request(method, path, query, int(size)))
        return found


def _answers(endpoint: str) -> bool:
    try:
        urllib.request.urlopen(endpoint, timeout=5).close()
    except OSError:
        return False
    return True
