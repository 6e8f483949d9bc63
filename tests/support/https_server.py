"""An HTTPS server on localhost that answers ranges, and misbehaves as a test tells it."""

from __future__ import annotations

import dataclasses
import email.utils
import functools
import http.server
import re
import ssl
import subprocess
import threading
import time
from pathlib import Path
from typing import Callable

RANGE = re.compile(r"bytes=(\d+)-(\d*)$")


@dataclasses.dataclass
class Request:
    path: str
    range: str | None
    if_match: str | None
    authorization: str | None
    connection: int  # the port that it came from
    status: int = 0
    sent: int = 0  # bytes of the body


# Answers a request itself and returns True, or returns False for the usual answer.
Trick = Callable[["Handler", Request], bool]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:  # noqa: N802
        owner = self.server.owner
        request = Request(
            self.path,
            self.headers.get("Range"),
            self.headers.get("If-Match"),
            self.headers.get("Authorization"),
            self.client_address[1],
        )
        owner.requests.append(request)
        trick = owner.tricks.get(self.path)
        if trick is not None and trick(self, request):
            return
        content = owner.files.get(self.path)
        if content is None:
            self.answer(request, 404, b"no such file")
            return
        etag = owner.etags.get(self.path, f'"{hash(content)}"')
        if request.if_match not in (None, etag):
            self.answer(request, 412, b"")
            return
        wanted = RANGE.match(request.range or "")
        headers = {"ETag": etag, "Last-Modified": owner.modified}
        if wanted is None:
            self.answer(request, 200, content, headers)
            return
        begin = int(wanted[1])
        end = min(int(wanted[2] or len(content)) + 1, len(content))
        if begin >= len(content):
            self.answer(request, 416, b"", {"Content-Range": f"bytes */{len(content)}"})
            return
        headers["Content-Range"] = f"bytes {begin}-{end - 1}/{len(content)}"
        self.answer(request, 206, content[begin:end], headers)

    def answer(
        self,
        request: Request,
        status: int,
        body: bytes,
        headers: dict[str, str] | None = None,
        cut: int | None = None,
    ) -> None:
        """Sends the answer. With `cut`, the connection ends after so many bytes of the body."""
        request.status = status
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        part = body if cut is None else body[:cut]
        request.sent = len(part)
        self.wfile.write(part)
        if cut is not None:
            self.close_connection = True

    def log_message(self, *arguments: object) -> None:
        pass


class _Server(http.server.ThreadingHTTPServer):
    owner: HttpsServer
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # the client has gone


class HttpsServer:
    """Serves `files`, by paths such as "/a.mp4", at https://localhost:PORT. `close` ends it."""

    def __init__(self, folder: Path) -> None:
        self.certificate = folder / "certificate.pem"
        key = folder / "key.pem"
        command = (
            "openssl req -x509 -nodes -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -days 2"
        )
        names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
        outputs = ["-keyout", str(key), "-out", str(self.certificate)]
        subprocess.run([*command.split(), *names, *outputs], check=True, capture_output=True)
        self.files: dict[str, bytes] = {}
        self.etags: dict[str, str] = {}
        self.tricks: dict[str, Trick] = {}
        self.requests: list[Request] = []
        self.modified = email.utils.formatdate(1_700_000_000, usegmt=True)
        self._server = _Server(("127.0.0.1", 0), Handler)
        self._server.owner = self
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, key)
        self._server.socket = context.wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(
            target=functools.partial(self._server.serve_forever, poll_interval=0.02), daemon=True
        )
        self._thread.start()

    def put(self, path: str, content: bytes, trick: Trick | None = None) -> str:
        """Serves the content at the path, and returns its address."""
        self.files[path] = content
        self.tricks.pop(path, None)
        if trick is not None:
            self.tricks[path] = trick
        self.requests.clear()
        return self.address(path)

    def address(self, path: str) -> str:
        return f"https://localhost:{self.port}{path}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def first(count: int, trick: Trick) -> Trick:
    """Plays the trick on the first requests only, not counting those for the first byte."""
    left = [count]

    def limited(handler: Handler, request: Request) -> bool:
        if left[0] == 0 or request.range == "bytes=0-0":
            return False
        left[0] -= 1
        return trick(handler, request)

    return limited


def status(code: int, headers: dict[str, str] | None = None) -> Trick:
    def answer(handler: Handler, request: Request) -> bool:
        handler.answer(request, code, b"this is not the file", headers)
        return True

    return answer


def silence(seconds: float) -> Trick:
    def wait(handler: Handler, request: Request) -> bool:
        time.sleep(seconds)
        return False

    return wait
