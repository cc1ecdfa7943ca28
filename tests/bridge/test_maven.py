"""Jars from a Maven repository: kept by checksum, and a repository that is silent or wrong ends in words."""

from __future__ import annotations

import base64
import hashlib
import os
import resource
import socket
import stat
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from pyqbeast.bridge.start import maven

JAR = b"a jar"
CHECKSUM = hashlib.sha256(JAR).hexdigest()


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with one jar in it, and an empty cache."""
    (tmp_path / "repository" / "org").mkdir(parents=True)
    (tmp_path / "repository" / "org" / "a.jar").write_bytes(JAR)
    monkeypatch.setenv("PYQBEAST_MAVEN", f"file://{tmp_path}/repository")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "repository"


def test_a_jar_is_fetched_once(repository):
    assert maven.fetch("org/a.jar", CHECKSUM).read_bytes() == JAR
    (repository / "org" / "a.jar").unlink()
    assert maven.fetch("org/a.jar", CHECKSUM).read_bytes() == JAR


def test_what_is_missing_or_altered_is_not_kept(repository):
    with pytest.raises(OSError, match=r"cannot download .*org/b\.jar.*PYQBEAST_MAVEN"):
        maven.fetch("org/b.jar", CHECKSUM)
    with pytest.raises(OSError, match="expected 0000; nothing was kept"):
        maven.fetch("org/a.jar", "0000")
    assert not list(maven.cache_folder().glob("*"))


def test_a_silent_repository_is_given_up(repository, monkeypatch):
    monkeypatch.setattr(maven, "_SECONDS_OF_SILENCE", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("PYQBEAST_MAVEN", f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(OSError, match=r"cannot download .*timed out"):
            maven.fetch("org/a.jar", CHECKSUM)


@pytest.mark.parametrize("url", ["repo.example.org/maven2", "http://[::1", "http://a host/maven2"])
def test_what_is_no_url_is_named(repository, monkeypatch, url):
    monkeypatch.setenv("PYQBEAST_MAVEN", url)
    with pytest.raises(OSError, match=r"cannot download .*org/a\.jar .*; set PYQBEAST_MAVEN"):
        maven.fetch("org/a.jar", CHECKSUM)


@pytest.mark.parametrize(
    "answer", [b"rubbish", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf"]
)
def test_an_answer_that_is_none_is_not_kept(repository, monkeypatch, answer):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer_once():
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(answer)

        thread = threading.Thread(target=answer_once)
        thread.start()
        monkeypatch.setenv("PYQBEAST_MAVEN", f"http://127.0.0.1:{server.getsockname()[1]}")
        with pytest.raises(OSError, match="cannot download"):
            maven.fetch("org/a.jar", CHECKSUM)
        thread.join()
    assert not list(maven.cache_folder().glob("*"))


def test_an_empty_name_is_none(repository, monkeypatch):
    monkeypatch.setattr(maven, "CENTRAL", f"file://{repository}")
    monkeypatch.setenv("PYQBEAST_MAVEN", "")
    assert maven.fetch("org/a.jar", CHECKSUM).read_bytes() == JAR


def test_a_cache_that_cannot_be_written_is_named(repository, monkeypatch):
    """It is no matter of the network."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(repository / "org" / "a.jar"))
    with pytest.raises(
        OSError, match=r"a\.jar/pyqbeast/jars, where they are kept, cannot be written .* XDG_CACHE"
    ):
        maven.fetch("org/a.jar", CHECKSUM)


def test_a_disk_that_is_full_is_no_repository_out_of_reach(repository):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(JAR) - 1, limits[1]))
    try:
        with pytest.raises(
            OSError, match=r"jars, where they are kept, cannot be written \(.*File too large.*XDG_CACHE"
        ):
            maven.fetch("org/a.jar", CHECKSUM)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not list(maven.cache_folder().glob("*"))


def test_a_jar_that_cannot_be_read_is_named(repository):
    """Another user may have put it into a cache that several share."""
    (maven.cache_folder() / "a.jar").mkdir(parents=True)
    with pytest.raises(OSError, match=r"jars/a\.jar cannot be read .*; set XDG_CACHE_HOME to another folder"):
        maven.fetch("org/a.jar", CHECKSUM)


def test_others_may_read_a_jar_as_the_umask_lets_them(repository):
    before = os.umask(0o022)
    try:
        assert stat.filemode(maven.fetch("org/a.jar", CHECKSUM).stat().st_mode) == "-rw-r--r--"
    finally:
        os.umask(before)


def test_without_a_home_a_folder_is_asked_for(repository, monkeypatch):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(maven.Path, "home", no_home)
    assert maven.fetch("org/a.jar", CHECKSUM)
    monkeypatch.delenv("XDG_CACHE_HOME")
    with pytest.raises(OSError, match=r"no folder to keep them in \(Could .*\); set XDG_CACHE_HOME to one"):
        maven.fetch("org/a.jar", CHECKSUM)


def test_a_repository_gets_the_password_in_its_url_and_no_message_does(repository, monkeypatch):
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append((self.path, self.headers["Authorization"]))
            self.send_response(200 if self.path.endswith("a.jar") else 404)
            self.end_headers()
            self.wfile.write(JAR)

        def log_message(self, *_):
            """No lines in the output of the tests."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        host = f"127.0.0.1:{server.server_port}"
        monkeypatch.setenv("PYQBEAST_MAVEN", f"http://me:s%403cret@{host}/maven/")
        assert maven.fetch("org/a.jar", CHECKSUM).read_bytes() == JAR
        for jar, checksum in [("org/a.jar", "0000"), ("org/b.jar", CHECKSUM)]:
            with pytest.raises(OSError, match=f"http://{host}/maven/{jar}") as told:
                maven.fetch(jar, checksum)
            assert "cret" not in str(told.value)
        server.shutdown()
        thread.join()
    basic = "Basic " + base64.b64encode(b"me:s@3cret").decode()
    assert asked == [(f"/maven/org/{name}.jar", basic) for name in "aab"]
