"""Runs a Google Cloud Storage emulator on localhost, and processes that read gs:// from it.

The emulator is gcp-storage-emulator from PyPI, with a hook that writes down each request and the
size of its answer. It runs in a process of its own, which runs this file as a script.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import importlib.metadata
import json
import os
import select
import subprocess
import sys
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any, Callable

BUCKET = "videos"
START_S = 100
# After so many seconds, a child counts as hanging. google-cloud-cpp would repeat a failing request
# for 15 minutes.
CHILD_S = 200

# The defaults of TensorFlow's plugin for gs://. It crashes if one of the five variables is not set.
DEFAULTS = {
    "GCS_READ_CACHE_BLOCK_SIZE_MB": "64",
    "GCS_READ_CACHE_MAX_SIZE_MB": "0",
    "GCS_READ_CACHE_MAX_STALENESS": "0",
    "GCS_STAT_CACHE_MAX_AGE": "5",
    "GCS_STAT_CACHE_MAX_ENTRIES": "1024",
}
# With these settings, each read is one request for exactly its bytes.
EXACT = {**DEFAULTS, "GCS_READ_CACHE_BLOCK_SIZE_MB": "0"}
# With these settings, the plugin keeps blocks of 1 MiB for all readers of a file.
CACHED = {**DEFAULTS, "GCS_READ_CACHE_BLOCK_SIZE_MB": "1", "GCS_READ_CACHE_MAX_SIZE_MB": "64"}


@dataclasses.dataclass(frozen=True)
class Request:
    """A request that the emulator answered. `sent` is the size of the answer's body in bytes."""

    method: str
    path: str
    range: str | None
    authorized: bool
    status: int
    sent: int

    @property
    def reads_object(self) -> bool:
        return self.method == "GET" and self.path.startswith(f"/{BUCKET}/")


@dataclasses.dataclass(frozen=True)
class Answer:
    """What a function returns in a child process, and its requests to the emulator."""

    value: Any
    requests: list[Request]

    @property
    def reads(self) -> list[Request]:
        return [request for request in self.requests if request.reads_object]

    @property
    def bytes_read(self) -> int:
        return sum(request.sent for request in self.reads)


class GcsServer:
    """A running emulator with one bucket. `close` ends it."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "gcs_requests.jsonl"
        self._log.touch()
        self._recv = folder / "gcs_recv.so"
        self._compile_recv()
        with (folder / "gcs_server.log").open("w") as errors:
            self._process = subprocess.Popen(
                [sys.executable, __file__, "serve", str(self._log)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        assert self._process.stdout is not None
        ready = select.select([self._process.stdout], [], [], START_S)[0]
        port = self._process.stdout.readline().strip().decode() if ready else ""
        if not port:
            self._process.kill()
            self._process.wait()
            raise RuntimeError(f"the emulator did not start: {Path(errors.name).read_text()}")
        self._host = f"127.0.0.1:{port}"

    def upload(self, data: Path | bytes, name: str) -> str:
        """Puts a local file or bytes in the bucket and returns the gs:// name."""
        query = urllib.parse.urlencode({"uploadType": "media", "name": name})
        content = data if isinstance(data, bytes) else data.read_bytes()
        request = urllib.request.Request(
            f"http://{self._host}/upload/storage/v1/b/{BUCKET}/o?{query}",
            data=content,
            headers={"Content-Type": "application/octet-stream"},
        )
        # The environment may name a proxy, which must not get requests for localhost.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=START_S) as reply:
            assert int(json.load(reply)["size"]) == len(content)
        return f"gs://{BUCKET}/{name}"

    def requests(self) -> list[Request]:
        """Returns all requests so far. The emulator writes each one down before it sends the body
        of the answer."""
        return [Request(**json.loads(line)) for line in self._log.read_text().splitlines()]

    def environment(self, settings: dict[str, str] = DEFAULTS) -> dict[str, str]:
        """Returns the environment of a process whose gs:// is the emulator."""
        return {
            **os.environ,
            **settings,
            "CLOUD_STORAGE_EMULATOR_ENDPOINT": f"http://{self._host}",
            # Without this, TensorFlow uses its built-in gs://, which knows only the real service.
            "TF_USE_MODULAR_FILESYSTEM": "1",
            # The plugin needs no credentials for an emulator. If it looked for some, it would send
            # a request to the emulator, which the tests would notice.
            "GCE_METADATA_ROOT": self._host,
            "LD_PRELOAD": " ".join(filter(None, [str(self._recv), os.environ.get("LD_PRELOAD")])),
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
        }

    def run(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        settings: dict[str, str] = DEFAULTS,
        timeout_s: float = CHILD_S,
    ) -> Answer:
        """Calls a function of a test module in a new process where gs:// is the emulator.

        Arguments and result travel as JSON. A crash, an exception and a hang fail the test.
        """
        before = len(self.requests())
        module = sys.modules[function.__module__].__file__
        assert module is not None
        environment = self.environment(settings)
        environment["PYTHONPATH"] = os.pathsep.join(
            filter(None, [_package_root(), *_python_path()])
        )
        call = [sys.executable, "-X", "faulthandler", __file__, "call", module, function.__name__]
        try:
            child = subprocess.run(
                [*call, json.dumps(arguments)],
                env=environment,
                capture_output=True,
                timeout=timeout_s,
                text=True,
                check=False,
            )
        except subprocess.TimeoutExpired as expired:
            raise AssertionError(
                f"{function.__name__} took more than {timeout_s} s; the last requests: "
                f"{self.requests()[before:][-5:]}; it wrote: {expired.stderr!r}"
            ) from None
        assert child.returncode == 0, f"code {child.returncode} from:\n{child.stderr[-4000:]}"
        value = json.loads(child.stdout.splitlines()[-1])
        return Answer(value, self.requests()[before:])

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _compile_recv(self) -> None:
        source = Path(__file__).with_name("gcs_recv.cc")
        compiler = os.environ.get("CXX", "g++")
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-O1", "-o", self._recv, source, "-ldl"], check=True
        )


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def plugin_works() -> bool:
    """Returns whether the plugin provides gs:// in this environment. This runs in a child."""
    import tensorflow as tf

    return "gs" in tf.io.gfile.get_registered_schemes()


def missing_plugin(server: GcsServer) -> str:
    """Returns why the plugin does not provide gs:// with this TensorFlow, or an empty text if it
    does."""
    try:
        version = importlib.metadata.version("tensorflow-io-gcs-filesystem")
    except importlib.metadata.PackageNotFoundError:
        return "tensorflow-io-gcs-filesystem is not installed"
    try:
        server.run(plugin_works)
    except AssertionError as error:
        lines = str(error).splitlines()
        cause = next((line for line in lines if "caused by" in line), lines[-1])
        return f"tensorflow-io-gcs-filesystem {version} does not load: {cause}"
    return ""


def _package_root() -> str:
    # The child must import the same package as this process.
    import tf_nvcodec

    return str(Path(tf_nvcodec.__file__).resolve().parents[1])


def _python_path() -> list[str]:
    return os.environ.get("PYTHONPATH", "").split(os.pathsep)


def _call(module: str, function: str, arguments: str) -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # What libraries print must not get into the answer.
    sys.path[1:1] = [str(Path(module).parent), str(Path(__file__).parents[1] / "golden")]
    value = getattr(__import__(Path(module).stem), function)(*json.loads(arguments))
    print(json.dumps(value), file=answers, flush=True)


def _serve(log: str) -> None:
    from gcp_storage_emulator import server

    lines = Path(log).open("a", buffering=1)  # noqa: SIM115

    class Handler(server.RequestHandler):
        """Writes down each answer. The header tells the size of its body."""

        def send_response(self, code: int, message: str | None = None) -> None:
            self._status, self._sent = code, 0
            super().send_response(code, message)

        def send_header(self, keyword: str, value: str) -> None:
            if keyword.lower() == "content-length":
                self._sent = int(value)
            super().send_header(keyword, value)

        def end_headers(self) -> None:
            request = Request(
                self.command,
                self.path,
                self.headers.get("Range"),
                "Authorization" in self.headers,
                self._status,
                self._sent,
            )
            lines.write(json.dumps(dataclasses.asdict(request)) + "\n")
            super().end_headers()

    server.RequestHandler = Handler
    emulator = server.create_server("127.0.0.1", 0, in_memory=True, default_bucket=BUCKET)
    emulator.start()
    # With port 0 the system chooses a port. Only this private attribute tells which one.
    print(emulator._api._httpd.server_port, flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        sys.stdin.read()  # This returns when the tests close the pipe or die.
    emulator.stop()


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        _serve(*sys.argv[2:])
    else:
        _call(*sys.argv[2:])
