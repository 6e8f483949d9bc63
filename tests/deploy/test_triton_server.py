"""Models on a real Triton server: the one that the package nvidia-pytriton carries."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import statistics
import threading
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import child_script
import numpy as np
import pytest
import served_models
import tensorflow as tf
import triton_server
from golden_clips import Clips

import tf_nvcodec as nvc
from tf_nvcodec.deploy.triton_repository import write_repository

# The package carries the server; it is not imported.
if find_spec("pytriton") is None:
    pytest.skip("nvidia-pytriton is not installed", allow_module_level=True)
grpc = pytest.importorskip("tritonclient.grpc")
http = pytest.importorskip("tritonclient.http")

NAMES = ["h264.mp4", "hevc_open_gop.mkv", "av1.mp4", "vp9.webm"]
GARBAGE = b"this is no video"
SUPPORT = str(Path(__file__).resolve().parents[1] / "support")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return served_models.export(tmp_path_factory.mktemp("exported") / "model")


@pytest.fixture(scope="module")
def server(
    model: Path, tmp_path_factory: pytest.TempPathFactory, clips: Clips
) -> Iterator[triton_server.Server]:
    folder = tmp_path_factory.mktemp("served")
    write_repository(
        model,
        folder / "models",
        "colors",
        batches=2,
        warm_up=[clips.path("h264.mp4")],
    )
    # The same model beside something that crashes and hangs on certain requests.
    write_repository(
        model,
        folder / "models",
        "fragile",
        batches=2,
        timeout=20,
        max_megabytes=1.5,
        imports=["tf_nvcodec", "dies_on_poison"],
    )
    write_repository(repeating(folder / "repeating"), folder / "models", "repeating", imports=[])
    environment = child_script.environment()
    path = os.pathsep.join([SUPPORT, environment["PYTHONPATH"]])
    with triton_server.Server(folder / "models", folder / "log", PYTHONPATH=path) as started:
        yield started


def repeating(folder: Path) -> Path:
    """Writes a model of numbers that repeats each row as often as it is told."""
    module = tf.Module()
    module.run = tf.function(
        lambda x, times: {"y": tf.repeat(x, times, axis=0)},
        input_signature=[
            tf.TensorSpec([None, 2], tf.float32, "x"),
            tf.TensorSpec([None], tf.int32, "times"),
        ],
    )
    tf.saved_model.save(module, str(folder), module.run)
    return folder


@pytest.fixture
def client(server: triton_server.Server) -> Any:
    return grpc.InferenceServerClient(f"127.0.0.1:{server.grpc}")


@pytest.fixture
def videos(clips: Clips) -> list[bytes]:
    return [clips.data(name) for name in NAMES]


def infer(client: Any, contents: list[bytes], model: str = "colors", **options: Any) -> Any:
    options.setdefault("client_timeout", 60)
    return client.infer(model, triton_server.inputs(grpc, contents), **options)


def check(answer: Any, want: dict[str, np.ndarray], row: int | None = None) -> None:
    """Compares an answer with what the model says in this process, or with a row of that."""
    rows = slice(None) if row is None else slice(row, row + 1)
    for name, value in want.items():
        got = answer.as_numpy(name)
        if value.ndim == 1:  # Triton has no shape [B] with batches
            got = got[:, 0]
        if value.dtype == object:
            assert got.tolist() == value[rows].tolist(), name
        else:
            np.testing.assert_allclose(got, value[rows], rtol=1e-5, err_msg=name)


def test_grpc_and_http(server: triton_server.Server, client: Any, model: Path, videos: Any) -> None:
    want = served_models.answers(model, videos)
    check(infer(client, videos), want)
    by_http = http.InferenceServerClient(f"127.0.0.1:{server.http}")
    check(by_http.infer("colors", triton_server.inputs(http, videos)), want)
    # One video by curl: the body is the file.
    request = urllib.request.Request(
        f"http://127.0.0.1:{server.http}/v2/models/colors/infer",
        videos[0],
        {"Inference-Header-Content-Length": "0"},
    )
    with urllib.request.urlopen(request) as said:
        header = json.loads(said.read(int(said.headers["Inference-Header-Content-Length"])))
        assert {each["name"] for each in header["outputs"]} == set(want)
        assert want["labels"][0][0] in said.read()
    metadata = client.get_model_metadata("colors", as_json=True)
    assert [each["name"] for each in metadata["inputs"]] == ["contents"]
    assert 'nv_inference_request_success{model="colors",version="1"}' in server.get(
        "/metrics", server.metrics
    )


def test_broken_videos_beside_good_ones(client: Any, model: Path, videos: Any) -> None:
    large = nvc.encode_video(np.zeros([1, 4320, 7680, 3], np.uint8), 25.0).numpy()
    contents = [videos[0], GARBAGE, videos[1][: len(videos[1]) // 3], large, b"", videos[2]]
    want = served_models.answers(model, contents)
    assert [bool(status) for status in want["status"]][:2] == [False, True]
    check(infer(client, contents), want)
    # The same as separate requests at the same time.
    with ThreadPoolExecutor(len(contents)) as pool:
        answers = list(pool.map(lambda data: infer(client, [data]), contents))
    for row, answer in enumerate(answers):
        check(answer, want, row)


@pytest.mark.parametrize("clients", [1, 8, 32])
def test_clients(client: Any, model: Path, videos: Any, clients: int) -> None:
    want = served_models.answers(model, videos)
    before = batches_of(client)

    def ask(number: int) -> Any:
        return infer(client, [videos[number % len(videos)]])

    with ThreadPoolExecutor(clients) as pool:
        answers = list(pool.map(ask, range(max(4, clients))))
    for number, answer in enumerate(answers):
        check(answer, want, number % len(videos))
    if clients == 32:
        formed = {size: count - before.get(size, 0) for size, count in batches_of(client).items()}
        assert any(count for size, count in formed.items() if size > 1), formed


def batches_of(client: Any) -> dict[int, int]:
    """How many batches of each size the server has run."""
    statistics = client.get_inference_statistics("colors").model_stats[0]
    return {each.batch_size: each.compute_infer.count for each in statistics.batch_stats}


def test_wrong_requests(client: Any, videos: Any) -> None:
    tensor = grpc.InferInput("contents", [1, 1], "FP32")
    tensor.set_data_from_numpy(np.zeros([1, 1], np.float32))
    with pytest.raises(grpc.InferenceServerException, match="data-type"):
        client.infer("colors", [tensor])
    with pytest.raises(grpc.InferenceServerException, match="unexpected inference input 'video'"):
        client.infer("colors", triton_server.inputs(grpc, videos[:1], "video"))
    with pytest.raises(grpc.InferenceServerException, match="batch-size must be <= 8"):
        infer(client, videos * 3)
    with pytest.raises(grpc.InferenceServerException, match="this model takes 1500000"):
        infer(client, [b"x" * 1_000_000, b"x" * 500_001], "fragile")
    # A batch of nothing must not take the server down.
    empty = grpc.InferInput("contents", [0, 1], "BYTES")
    empty.set_data_from_numpy(np.empty([0, 1], object))
    with pytest.raises(grpc.InferenceServerException):
        client.infer("colors", [empty])
    assert infer(client, videos[:1]).as_numpy("status").tolist() == [[b""]]


def test_several_inputs_of_numbers_and_a_wrong_number_of_rows(client: Any) -> None:
    def ask(x: list[list[float]], times: list[int]) -> Any:
        arrays = {"x": np.array(x, np.float32), "times": np.array(times, np.int32)[:, None]}
        tensors = []
        for name, kind in {"x": "FP32", "times": "INT32"}.items():
            tensors.append(grpc.InferInput(name, list(arrays[name].shape), kind))
            tensors[-1].set_data_from_numpy(arrays[name])
        return client.infer("repeating", tensors, client_timeout=60).as_numpy("y").tolist()

    assert ask([[1, 2], [3, 4]], [1, 1]) == [[1, 2], [3, 4]]
    # Rows of one request must never be taken for those of another.
    with pytest.raises(grpc.InferenceServerException, match="'y' has 3 rows for a batch of 2"):
        ask([[1, 2], [3, 4]], [1, 2])
    assert ask([[5, 6]], [1]) == [[5, 6]]
    # A request in the same batch gets its answer all the same.
    with ThreadPoolExecutor(2) as threads:
        for _ in range(5):
            wrong = threads.submit(ask, [[1, 2]], [2])
            assert threads.submit(ask, [[3, 4]], [1]).result() == [[3, 4]]
            with pytest.raises(grpc.InferenceServerException, match="'y' has 2 rows"):
                wrong.result()


def test_the_process_dies_between_requests(
    server: triton_server.Server, client: Any, model: Path, videos: Any
) -> None:
    want = served_models.answers(model, videos)
    processes = server.model_processes()
    assert len(processes) == 3
    for process in processes:
        os.kill(process, signal.SIGKILL)
    check(infer(client, videos), want)
    assert server.is_ready()
    infer(client, videos[:1], "fragile")
    deadline = time.monotonic() + 60
    while len(server.model_processes()) < 3 and time.monotonic() < deadline:
        time.sleep(0.1)
    restarted = server.model_processes()
    assert len(restarted) == 3
    assert not set(processes) & set(restarted)


@pytest.mark.parametrize(
    ("request_of", "says"),
    [(b"poison", "process died when it worked on this request"), (b"wrong", "this one is wrong")],
)
def test_an_error_is_of_one_request(
    client: Any, model: Path, videos: Any, request_of: bytes, says: str
) -> None:
    want = served_models.answers(model, videos[:1])

    def ask(number: int) -> Any:
        try:
            return infer(client, [request_of if number == 5 else videos[0]], "fragile")
        except grpc.InferenceServerException as error:
            return error.message()

    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(ask, range(12)))
    for number, answer in enumerate(answers):
        if number == 5:
            assert says in answer
        else:
            check(answer, want)


@pytest.mark.serial
def test_a_cancelled_request_stops_the_work(client: Any, clips: Clips) -> None:
    video = clips.data("bbb.mp4")
    infer(client, [video] * 8)  # a first batch of a size is slower
    begin = time.monotonic()
    infer(client, [video] * 8)
    whole = time.monotonic() - begin

    answered = threading.Event()
    found: list[Any] = []

    def done(result: Any, error: Any) -> None:
        found.append(error)
        answered.set()

    # With its two threads busy, the model takes no other request before it has let go of these.
    calls = [
        client.async_infer("colors", triton_server.inputs(grpc, [video] * 8), done)
        for _ in range(2)
    ]
    time.sleep(whole / 10)
    for call in calls:
        call.cancel()
    assert answered.wait(30)
    assert "CANCELLED" in str(found[0].status())
    begin = time.monotonic()
    assert infer(client, [GARBAGE]).as_numpy("status")[0, 0]
    assert time.monotonic() - begin < whole


@pytest.mark.slow
def test_a_request_that_hangs(client: Any, videos: Any) -> None:
    begin = time.monotonic()
    with pytest.raises(grpc.InferenceServerException, match="longer than its time limit"):
        infer(client, [b"slow"], "fragile")
    # 20 seconds, and ten for the model to stop by itself.
    assert 28 < time.monotonic() - begin < 60
    assert infer(client, videos[:1], "fragile").as_numpy("status").tolist() == [[b""]]


@pytest.mark.slow
def test_a_video_of_60_megabytes(client: Any, clips: Clips) -> None:
    if shutil.disk_usage("/dev/shm").free < 500_000_000:
        pytest.skip("requests pass through /dev/shm, which has no room here")
    # The demuxer reads the frames, and passes over the rest.
    video = clips.data("h264.mp4")
    padded = video + (60_000_000).to_bytes(4, "big") + b"free" + bytes(60_000_000 - 8)
    small, large = infer(client, [video]), infer(client, [padded])
    np.testing.assert_array_equal(small.as_numpy("color"), large.as_numpy("color"))
    assert large.as_numpy("status").tolist() == [[b""]]


@pytest.mark.slow
def test_a_response_that_finds_no_room_in_shared_memory(tmp_path: Path) -> None:
    module = tf.Module()
    module.run = tf.function(
        lambda x: {"y": tf.tile(x, [1, 20_000_000])},
        input_signature=[tf.TensorSpec([None, 1], tf.float32, "x")],
    )
    tf.saved_model.save(module, str(tmp_path / "wide"), module.run)
    write_repository(tmp_path / "wide", tmp_path / "models", "wide", imports=[])
    least, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    # The server inherits the limit, which holds for the files of shared memory too.
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000_000, most))
    try:
        server = triton_server.Server(tmp_path / "models", tmp_path / "log")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (least, most))
    with server:
        client = grpc.InferenceServerClient(f"127.0.0.1:{server.grpc}")
        tensor = grpc.InferInput("x", [1, 1], "FP32")
        tensor.set_data_from_numpy(np.ones((1, 1), np.float32))
        for _ in range(2):
            with pytest.raises(grpc.InferenceServerException, match="INTERNAL"):
                client.infer("wide", [tensor], client_timeout=60)
        assert "Failed to increase the shared memory pool" in server.text()


@pytest.mark.slow
def test_two_versions(model: Path, tmp_path: Path, videos: Any) -> None:
    write_repository(model, tmp_path / "models", "colors")
    poll = ("--model-control-mode=poll", "--repository-poll-secs=1")
    with triton_server.Server(tmp_path / "models", tmp_path / "log", *poll) as server:
        client = grpc.InferenceServerClient(f"127.0.0.1:{server.grpc}")
        other = served_models.export(tmp_path / "other", pixel_format="bgr")
        write_repository(other, tmp_path / "models", "colors")
        wanted = {
            version: served_models.answers(folder, videos[:1])
            for version, folder in {"1": model, "2": other}.items()
        }
        deadline = time.monotonic() + 120
        answered = "1"
        while answered == "1" and time.monotonic() < deadline:
            answer = infer(client, videos[:1])
            answered = answer.get_response().model_version
            check(answer, wanted[answered])
        for version, want in wanted.items():
            check(infer(client, videos[:1], model_version=version), want)
        assert infer(client, videos[:1]).get_response().model_version == "2"


def test_a_model_that_does_not_load(model: Path, tmp_path: Path) -> None:
    write_repository(model, tmp_path / "models", "colors", imports=["no_such_module"])
    server = triton_server.Server(tmp_path / "models", tmp_path / "log")
    with pytest.raises(RuntimeError, match="the model does not load: ModuleNotFoundError"):
        server.wait_for(server.is_ready)


@pytest.mark.slow
def test_loading_on_a_machine_that_is_too_busy(tmp_path: Path) -> None:
    write_repository(
        repeating(tmp_path / "repeating"), tmp_path / "models", "repeating", imports=[]
    )
    server = triton_server.Server(tmp_path / "models", tmp_path / "log")
    # Triton's Python backend gives a loading stub up that gets no CPU for a second. Depending on
    # what the stub was doing, the server waits for it or crashes.
    server.wait_for(server.model_processes)
    (stub,) = server.processes(b"triton_python_backend_stub")
    os.kill(stub, signal.SIGSTOP)
    time.sleep(3)
    os.kill(stub, signal.SIGCONT)
    server.wait_for(lambda: set(server.processes(b"triton_python_backend_stub")) - {stub})
    os.kill(server.processes(b"tritonserver")[0], signal.SIGABRT)
    with server:
        assert "loading stood still for" in server.text()
        assert "crashed by SIGABRT" in server.text()
        (triton,) = server.processes(b"tritonserver")
        shared = f"tf_nvcodec_{server.process.pid}_*"
        assert len(list(Path("/dev/shm").glob(shared))) == 1, (
            "one model, and nothing of the crashed"
        )
    assert server.process.returncode == 0
    assert not Path(f"/proc/{triton}").exists()
    assert not list(Path("/dev/shm").glob(shared))


@pytest.mark.serial
def test_the_first_request_after_the_warm_up(
    model: Path, tmp_path: Path, clips: Clips, videos: Any
) -> None:
    write_repository(model, tmp_path / "models", "colors", warm_up=[clips.path("h264.mp4")])

    def seconds_of_requests() -> list[float]:
        with triton_server.Server(tmp_path / "models", tmp_path / "log") as server:
            client = grpc.InferenceServerClient(f"127.0.0.1:{server.grpc}")
            assert client.is_server_ready()  # opens the connection
            seconds = []
            for _ in range(20):
                begin = time.perf_counter()
                infer(client, videos[:1])
                seconds.append(time.perf_counter() - begin)
            return seconds

    # It takes 2 to 5 times as long as the others, and 12 to 15 times without the warm-up. Other
    # work may disturb one measurement.
    tried: list[list[float]] = []
    while not tried or tried[-1][0] >= 8 * statistics.median(tried[-1][1:]):
        assert len(tried) < 3, tried
        tried.append(seconds_of_requests())


@pytest.mark.slow
@pytest.mark.serial
@pytest.mark.timeout(900)
def test_10000_requests_with_steady_memory(model: Path, tmp_path: Path) -> None:
    write_repository(model, tmp_path / "models", "colors")
    video = nvc.encode_video(np.zeros([8, 64, 64, 3], np.uint8), 25.0).numpy()
    with triton_server.Server(tmp_path / "models", tmp_path / "log") as server:
        clients = [grpc.InferenceServerClient(f"127.0.0.1:{server.grpc}") for _ in range(8)]
        processes = [*server.processes(b"tritonserver"), *server.model_processes()]
        assert len(processes) == 2

        def ask(number: int) -> None:
            infer(clients[number % 8], [video if number % 10 else GARBAGE])

        peaks = []
        with ThreadPoolExecutor(8) as pool:
            for part in range(4):
                list(pool.map(ask, range(part * 2500, part * 2500 + 2500)))
                peaks.append(sum(map(resident_megabytes, processes)))
        assert peaks[3] - peaks[0] < 60, peaks


def resident_megabytes(process: int) -> float:
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1000
    raise AssertionError(process)
