"""A relay in front of a server of HTTP that loses one answer: the server has done what was asked, and nobody hears."""

from __future__ import annotations

import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import urlsplit

from tests.machine import HOST


class LostAnswer:
    """A relay that loses the answer to the first PUT of an object whose path ends as told."""

    def __init__(self, endpoint: str, ending: str) -> None:
        self.lost = threading.Event()
        behind = urlsplit(endpoint).netloc
        relay = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _pass_on(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                asked = http.client.HTTPConnection(behind, timeout=60)
                asked.request(self.command, self.path, body, dict(self.headers))
                answer = asked.getresponse()
                content = answer.read()
                asked.close()
                if self.command == "PUT" and self.path.endswith(ending) and not relay.lost.is_set():
                    relay.lost.set()
                    self.close_connection = True
                    return
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in ("transfer-encoding", "connection", "date", "server"):
                        self.send_header(name, value)
                if self.command != "HEAD" and answer.getheader("Content-Length") is None:
                    self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass_on  # noqa: N815

            def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
                """Says nothing."""

        self._server = ThreadingHTTPServer((HOST, 0), Handler)
        self._server.daemon_threads = True
        self.endpoint = f"http://{HOST}:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> LostAnswer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
