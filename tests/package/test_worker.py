"""`python -m tf_nvcodec.worker` and `.dispatcher` start servers of tf.data service that have the
ops."""

from __future__ import annotations

import contextlib
import ctypes
import random
import re
import signal
import socket
import threading
import time
from pathlib import Path

import pytest
import tensorflow as tf
from fork_server import Child, start
from golden_datasets import dataset, ids

import tf_nvcodec as nvc
from tf_nvcodec import dispatcher, worker
from tf_nvcodec.cli import server

service = tf.data.experimental.service
HOME = Path(nvc.__file__).resolve().parents[1]


# The system hands out free ports from a range above these, so nobody else gets one of them.
_ports = iter(random.sample(range(20000, 32000), 1000))


def free_port() -> int:
    """Returns another port with each call, because the server binds it only later."""
    while True:
        port = next(_ports)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("", port))
            return port


def process(module: str, *options: object) -> Child:
    return start("-m", f"tf_nvcodec.{module}", *options, cwd=HOME)


def end(child: Child, number: signal.Signals) -> tuple[str, list[str]]:
    """Ends a server by a signal. Returns the rest of its stdout, and the lines on stderr that come
    from tf_nvcodec."""
    child.send_signal(number)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 0, err
    return out, [line for line in err.splitlines() if line.startswith("tf_nvcodec.")]


def test_a_cluster_of_processes(clips, tmp_path):
    port, second = free_port(), free_port()
    whole = dataset(clips, tmp_path / "cache", shuffle=True)
    with contextlib.ExitStack() as stack:
        # The workers start first and wait for their dispatcher.
        workers = [
            stack.enter_context(
                process("worker", "--dispatcher", f"grpc://localhost:{port}", *more)
            )
            for more in (
                ("--timeout", 250),
                ("--port", second, "--heartbeat", 0.2, "--timeout", 250),
            )
        ]
        main = stack.enter_context(process("dispatcher", "--port", port))
        assert main.stdout.readline() == f"grpc://localhost:{port}\n"
        addresses = [child.stdout.readline() for child in workers]
        assert all(re.fullmatch(r"grpc://localhost:\d+\n", address) for address in addresses)
        assert addresses[1] == f"grpc://localhost:{second}\n"

        distribute = service.distribute(service.ShardingPolicy.DYNAMIC, f"grpc://localhost:{port}")
        assert sorted(ids(whole.apply(distribute))) == sorted(ids(whole))

        # The signals must also stop processes that are at work.
        endless = iter(whole.repeat().apply(distribute))
        for _ in range(30):
            next(endless)
        for child, number in zip(workers, (signal.SIGTERM, signal.SIGINT)):
            out, lines = end(child, number)
            assert out == ""
            assert lines == [
                f"tf_nvcodec.worker: works for the dispatcher at localhost:{port}",
                "tf_nvcodec.worker: stopping",
            ]
        out, lines = end(main, signal.SIGTERM)
        assert out == ""
        assert lines == [
            f"tf_nvcodec.dispatcher: listens on port {port}",
            "tf_nvcodec.dispatcher: stopping",
        ]


def test_a_signal_that_another_thread_takes():
    """The system may deliver a signal to any thread, but Python handles it in the main thread. So
    the main thread must not sleep forever."""
    with process("dispatcher") as child:
        assert child.stdout.readline()
        others = [int(task.name) for task in Path(f"/proc/{child.pid}/task").iterdir()]
        others.remove(child.pid)
        assert others
        for thread in others:
            ctypes.CDLL(None).tgkill(child.pid, thread, signal.SIGTERM)
        out, err = child.communicate(timeout=60)
    assert child.returncode == 0, err
    assert "tf_nvcodec.dispatcher: stopping" in err


def test_a_dispatcher_without_the_ops_says_so(clips, tmp_path):
    """docs/troubleshooting.md quotes this message."""
    plain = (
        "import time, tensorflow as tf\n"
        "server = tf.data.experimental.service.DispatchServer()\n"
        "print(server.target, flush=True)\n"
        "time.sleep(600)\n"
    )
    with start("-c", plain) as child:
        target = child.stdout.readline().strip()
        distribute = service.distribute(service.ShardingPolicy.DYNAMIC, target)
        with pytest.raises(tf.errors.NotFoundError, match="not registered 'VideoDataset'"):
            ids(dataset(clips, tmp_path).apply(distribute))


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("grpc://host7:5050", "host7:5050"),
        ("localhost:1", "localhost:1"),
        ("grpc://10.1.2.3:65535/", "10.1.2.3:65535"),
        ("grpc://[::1]:05050", "[::1]:5050"),
        ("a-b.example.org:80", "a-b.example.org:80"),
    ],
)
def test_addresses_of_dispatchers(text, address):
    assert worker.dispatcher_address(text) == address


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "required: --dispatcher"),
        (
            ["--dispatcher", "host"],
            "'host' is no address of a dispatcher: expected grpc://host:port",
        ),
        (["--dispatcher", "host:0"], "is no address of a dispatcher"),
        (["--dispatcher", "host:70000"], "is no address of a dispatcher"),
        (["--dispatcher", "http://host:80"], "is no address of a dispatcher"),
        (["--dispatcher", "h:1", "--port", "-1"], "'-1' is no port"),
        (["--dispatcher", "h:1", "--port", "x"], "'x' is no port: 0 (a free one) to 65535"),
        (["--dispatcher", "h:1", "--host", "a b"], "'a b' is no host name"),
        (["--dispatcher", "h:1", "--host", "h:5"], "'h:5' is no host name"),
        (["--dispatcher", "h:1", "--timeout", "0"], "'0' is no number of seconds above 0"),
        (["--dispatcher", "h:1", "--heartbeat", "soon"], "'soon' is no number of seconds"),
    ],
)
def test_bad_options_are_one_line(capsys, arguments, complaint):
    assert worker.main(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("tf_nvcodec.worker: ") and said.err.count("\n") == 1
    assert complaint in said.err


def fails(capsys, main, *arguments: object) -> str:
    handlers = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    assert main(list(map(str, arguments))) == 1
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == handlers
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    return said.err


def test_no_dispatcher_there(capsys):
    address = f"localhost:{free_port()}"
    began = time.monotonic()
    line = fails(capsys, worker.main, "--dispatcher", address, "--timeout", 0.6)
    assert 0.3 < time.monotonic() - began < 20
    assert line.startswith(f"tf_nvcodec.worker: {address}: no dispatcher answered within 0.6 s: ")
    assert line.endswith("(start one with `python -m tf_nvcodec.dispatcher`)\n")


def test_a_silent_server_is_no_dispatcher(capsys):
    with socket.socket() as silent:
        silent.bind(("localhost", 0))
        silent.listen()
        address = f"localhost:{silent.getsockname()[1]}"
        line = fails(capsys, worker.main, "--dispatcher", address, "--timeout", 0.6)
    assert "no dispatcher answered" in line


def test_a_worker_is_no_dispatcher(capsys):
    main = service.DispatchServer()
    other = service.WorkerServer(service.WorkerConfig(main.target.split("://")[1]))
    line = fails(capsys, worker.main, "--dispatcher", other._address)
    assert line == (
        f"tf_nvcodec.worker: {other._address}: a server, but no tf.data service dispatcher\n"
    )


def test_a_port_in_use(capsys):
    main = service.DispatchServer()
    address = main.target.split("://")[1]
    port = address.rpartition(":")[2]
    said = f"port {port}: Address already in use (choose another --port)\n"
    line = fails(capsys, worker.main, "--dispatcher", address, "--port", port)
    assert line == f"tf_nvcodec.worker: {said}"
    assert fails(capsys, dispatcher.main, "--port", port) == f"tf_nvcodec.dispatcher: {said}"


def test_a_work_folder_that_can_not_be(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    line = fails(capsys, dispatcher.main, "--port", 0, "--work-dir", tmp_path / "file" / "sub")
    assert str(tmp_path / "file") in line


def test_waiting_ends_when_asked_to_stop():
    stop = server.Stop()
    threading.Timer(0.3, stop.set).start()
    began = time.monotonic()
    worker.wait_for_dispatcher(f"localhost:{free_port()}", 60, stop)
    assert time.monotonic() - began < 20


def test_the_address_that_clients_use(monkeypatch):
    assert worker.address_towards("localhost:5050") == "localhost"
    assert worker.address_towards("127.0.0.1:5050") == "localhost"

    def unknown(*_, **__):
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert worker.address_towards("no-such-host.invalid:5050") == socket.gethostname()


def test_help_names_every_option(capsys):
    for main in (worker.main, dispatcher.main):
        assert main(["--help"]) == 0
        assert "--port" in capsys.readouterr().out
