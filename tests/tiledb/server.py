"""A web server over a folder that answers range requests, and counts those for data and the bytes it sends."""

from __future__ import annotations

import contextlib
import http.server
import threading
from pathlib import Path


class _Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    #: Headers and body are two writes; on a connection that is kept, the second would wait for an answer to the first.
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def do_HEAD(self):
        self.server.keys.add(self.headers.get("Authorization"))
        return self.send_error(503) if self.server.fails else super().do_HEAD()

    def do_GET(self):
        self.server.keys.add(self.headers.get("Authorization"))
        if self.server.fails:
            return self.send_error(503)
        path = Path(self.translate_path(self.path))
        if path.is_dir():
            return self._page(path)
        if not path.is_file():
            return self.send_error(404)
        self.server.reads += 1
        data, wanted = path.read_bytes(), self.headers.get("Range")
        if wanted and self.server.ranges:
            first, last = wanted.removeprefix("bytes=").split("-")
            if int(first) >= len(data):
                return self.send_error(416)
            return self._send(206, data[int(first) : int(last) + 1 if last else None])
        return self._send(200, data)

    def _page(self, folder):
        links = "".join(
            f'<a href="{p.name}{"/" if p.is_dir() else ""}">{p.name}</a>' for p in folder.iterdir()
        )
        self._send(200, f'<a href="../">..</a><a href="?C=N">sort</a>{links}'.encode())

    def _send(self, status, data):
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        # A client may hang up when it has what it needs.
        with contextlib.suppress(ConnectionError):
            for start in range(0, len(data), 1 << 20):
                part = data[start : start + (1 << 20)]
                # A client that has it may ask for the count before this thread goes on.
                self.server.sent += len(part)
                self.wfile.write(part)


@contextlib.contextmanager
def serve(folder, *, ranges=True):
    """Serve a folder; gives the server.

    It tells its `url`, `reads` and bytes `sent` so far, the `keys` that it was shown, and takes whether it `fails`.
    """
    handler = lambda *args: _Handler(*args, directory=str(folder))  # noqa: E731
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.ranges, server.reads, server.sent, server.fails = ranges, 0, 0, False
    server.keys = set()
    server.url = f"http://127.0.0.1:{server.server_port}"
    # It looks that often, in seconds, whether it is to stop.
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
