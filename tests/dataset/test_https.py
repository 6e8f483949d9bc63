"""https:// against a server on localhost that misbehaves as told (support/https_server.py)."""

from __future__ import annotations

import concurrent.futures
import hashlib
import json
import os
import random
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import tensorflow as tf
from golden_clips import Clips
from https_server import Handler, HttpsServer, Request, Trick, first, silence, status

import tf_nvcodec as nvc
from tf_nvcodec import compat
from tf_nvcodec.cli.app import main
from tf_nvcodec.python.probe import probe_file

CLIP = "h264.mp4"
PART = 200_000  # bytes after which a connection is cut


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpsServer]:
    server = HttpsServer(tmp_path_factory.mktemp("https"))
    yield server
    server.close()


@pytest.fixture
def server(
    started: HttpsServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[HttpsServer]:
    monkeypatch.setenv("CURL_CA_BUNDLE", str(started.certificate))
    monkeypatch.setenv("NO_PROXY", "localhost")
    monkeypatch.setenv("no_proxy", "localhost")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TF_NVCODEC_HTTP_ATTEMPTS", "3")
    for what in (started.files, started.etags, started.tricks, started.requests):
        what.clear()
    yield started


@pytest.fixture(scope="module")
def noise() -> bytes:
    return random.Random(1).randbytes(1_000_000)


def read(name: str) -> bytes:
    return tf.io.read_file(name).numpy()


def reads(server: HttpsServer) -> list[Request]:
    """Returns the requests but those for the first byte, which ask for the size."""
    return [request for request in server.requests if request.range != "bytes=0-0"]


def clip_digests(names: list[str], **arguments: object) -> list[str]:
    clips = nvc.VideoDataset(names, clip_length=4, index_cache=False, **arguments)
    return [hashlib.md5(clip["frames"].tobytes()).hexdigest() for clip in clips.as_numpy_iterator()]


def test_files(server: HttpsServer, noise: bytes) -> None:
    name = server.put("/a folder/ä.bin", noise)
    server.files["/a%20folder/%C3%A4.bin"] = server.files.pop("/a folder/ä.bin")
    found = tf.io.gfile.stat(name)
    assert (found.length, found.mtime_nsec, found.is_directory) == (
        len(noise),
        1_700_000_000 * 10**9,
        False,
    )
    assert tf.io.gfile.exists(name)
    assert not tf.io.gfile.exists(name + "x")
    assert tf.io.gfile.glob(name) == [name]
    assert tf.io.gfile.glob(name + "x") == []
    assert read(name) == noise
    assert read(server.put("/empty", b"")) == b""
    assert read(server.put("/one", b"1")) == b"1"


def test_ranges_from_many_threads(server: HttpsServer, noise: bytes) -> None:
    name = server.put("/noise", noise)
    places = [random.Random(seed).randrange(len(noise)) for seed in range(40)]

    def part(begin: int) -> bytes:
        with tf.io.gfile.GFile(name, "rb") as file:
            file.seek(begin)
            return file.read(5000)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for begin, got in zip(places, pool.map(part, places)):
            assert got == noise[begin : begin + 5000]


def test_one_connection_serves_many_requests(server: HttpsServer) -> None:
    name = server.put("/a", b"some bytes")
    for _ in range(10):
        assert read(name) == b"some bytes"
    assert len(server.requests) == 20
    assert len({request.connection for request in server.requests}) == 1


def test_a_forked_process_does_not_use_the_connections(server: HttpsServer, noise: bytes) -> None:
    name = server.put("/a", noise)
    assert tf.io.gfile.exists(name)
    before = {request.connection for request in server.requests}
    child = os.fork()
    if child == 0:
        os._exit(0 if tf.io.gfile.exists(name) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert server.requests[-1].connection not in before
    assert read(name) == noise


@pytest.mark.parametrize("clip", [CLIP, "vp9.webm", "hevc.mp4"])
def test_videos(server: HttpsServer, clips: Clips, clip: str) -> None:
    name = server.put(f"/{clip}?token=1", clips.data(clip))
    local = str(clips.path(clip))
    assert clip_digests([name]) == clip_digests([local])
    with nvc.iter_video(name, frames=5) as far, nvc.iter_video(local, frames=5) as near:
        for one, other in zip(far, near):
            assert bytes(memoryview(one.frames)) == bytes(memoryview(other.frames))
    info = nvc.probe(tf.io.read_file(name))
    assert int(info.num_frames) == len(clips.frames(clip))
    demuxer = compat.CreateDemuxer(name)
    assert demuxer.Width() == int(info.width)
    assert len(list(demuxer)) >= int(info.num_frames)


def test_a_name_with_a_query_is_no_pattern(server: HttpsServer, clips: Clips) -> None:
    name = server.put("/a.mp4?part=[1]", clips.data(CLIP))
    assert clip_digests(name) == clip_digests([str(clips.path(CLIP))])
    with pytest.raises(tf.errors.UnimplementedError, match="do not list their files"):
        nvc.VideoDataset(server.address("/*.mp4"), clip_length=4)


def cut(handler: Handler, request: Request) -> bool:
    begin, end = map(int, (request.range or "").removeprefix("bytes=").split("-"))
    content = handler.server.owner.files[request.path]
    headers = {
        "Content-Range": f"bytes {begin}-{end}/{len(content)}",
        "ETag": handler.server.owner.etags[request.path],
        "Last-Modified": handler.server.owner.modified,
    }
    handler.answer(request, 206, content[begin : end + 1], headers, cut=PART)
    return True


def test_a_cut_answer_goes_on_where_it_ended(server: HttpsServer, noise: bytes) -> None:
    server.etags["/noise"] = '"1"'
    name = server.put("/noise", noise, first(4, cut))
    assert read(name) == noise
    begins = [int((request.range or "")[6:].split("-")[0]) for request in reads(server)]
    assert begins == [0, PART, 2 * PART, 3 * PART, 4 * PART]
    assert sum(request.sent for request in reads(server)) == len(noise)


def hang_up(handler: Handler, request: Request) -> bool:
    handler.close_connection = True
    return True


@pytest.mark.parametrize(
    ("trick", "least_s"),
    [
        (status(503), 0.3),  # half of 0.2 s and of 0.4 s
        (status(429), 0.3),
        (status(500, {"Retry-After": "1"}), 2),
        (hang_up, 0.1),  # libcurl itself repeats at once what it sent over an old connection
    ],
    ids=["503", "429", "retry-after", "closed"],
)
def test_what_passes_is_tried_again(server: HttpsServer, trick: Trick, least_s: float) -> None:
    name = server.put("/a", b"some bytes", first(2, trick))
    began = time.monotonic()
    assert read(name) == b"some bytes"
    assert len(reads(server)) == 3
    assert time.monotonic() - began >= least_s


def test_what_does_not_pass(server: HttpsServer) -> None:
    name = server.put("/a", b"some bytes", status(503))
    with pytest.raises(tf.errors.UnavailableError, match="HTTP status 503, after 3 attempts"):
        read(name)
    assert len(server.requests) == 3
    with pytest.raises(tf.errors.UnavailableError, match="connect"):
        read("https://localhost:1/a")


def test_a_silent_server(server: HttpsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_NVCODEC_HTTP_TIMEOUT", "1")
    name = server.put("/a", b"some bytes", first(1, silence(30)))
    began = time.monotonic()
    assert read(name) == b"some bytes"
    assert 0.9 < time.monotonic() - began < 10
    monkeypatch.setenv("TF_NVCODEC_HTTP_ATTEMPTS", "1")
    server.put("/a", b"some bytes", silence(30))
    with pytest.raises(tf.errors.UnavailableError, match="too slow"):
        read(name)


def test_a_request_ends_when_nobody_waits(
    server: HttpsServer, clips: Clips, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = server.put("/a.mp4", clips.data(CLIP), silence(30))
    began = time.monotonic()
    with pytest.raises(tf.errors.DeadlineExceededError, match="time limit of 0.5 s"):
        list(nvc.VideoDataset([name], clip_length=4, timeout=0.5))
    server.put("/a.mp4", b"", status(503, {"Retry-After": "30"}))
    with pytest.raises(tf.errors.DeadlineExceededError, match="time limit of 0.5 s"):
        probe_file(name, timeout=0.5)
    # The index is known, and what hangs is the decoder's read.
    name = server.put("/b.mp4", clips.data(CLIP))
    list(nvc.iter_video(name))
    server.put("/b.mp4", clips.data(CLIP), first(9, silence(30)))
    limited = nvc.iter_video(name, timeout=0.5)
    with pytest.raises(tf.errors.DeadlineExceededError, match="time limit of 0.5 s"):
        list(limited)
    closed = nvc.iter_video(name)
    while len(reads(server)) < 2:
        time.sleep(0.01)
    closed.close()
    assert time.monotonic() - began < 15


@pytest.mark.parametrize(
    ("code", "error", "words"),
    [
        (401, tf.errors.PermissionDeniedError, "HTTP status 401"),
        (403, tf.errors.PermissionDeniedError, "HTTP status 403"),
        (404, tf.errors.NotFoundError, "no such file"),
        (400, tf.errors.FailedPreconditionError, "HTTP status 400"),
    ],
)
def test_refusals(server: HttpsServer, code: int, error: type[Exception], words: str) -> None:
    name = server.put("/a?key=hidden", b"", status(code))
    with pytest.raises(error, match=words) as raised:
        read(name)
    assert "/a?..." in str(raised.value)
    assert "hidden" not in str(raised.value)
    assert len(server.requests) == 1


def test_redirects_stay_within_https(server: HttpsServer, noise: bytes) -> None:
    server.put("/noise", noise)
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    plain = f"http://127.0.0.1:{listener.getsockname()[1]}/noise"
    name = server.put("/there", b"", status(302, {"Location": server.address("/noise")}))
    assert read(name) == noise
    name = server.put("/plain", b"", status(302, {"Location": plain}))
    with pytest.raises(tf.errors.FailedPreconditionError, match="only https:// is followed"):
        read(name)
    with pytest.raises(BlockingIOError):  # nobody has connected
        listener.accept()
    listener.close()
    for other in ("file:///etc/hostname", "ftp://localhost/a"):
        name = server.put("/other", b"", status(302, {"Location": other}))
        with pytest.raises(tf.errors.FailedPreconditionError, match="only https:// is followed"):
            read(name)
    name = server.put("/circle", b"", status(302, {"Location": "/circle"}))
    with pytest.raises(tf.errors.FailedPreconditionError, match="five times at most"):
        read(name)
    assert len(server.requests) == 6
    with pytest.raises(tf.errors.UnimplementedError, match="'http' not implemented"):
        read(plain)


@pytest.mark.parametrize("strong", [True, False], ids=["strong", "weak"])
def test_a_file_that_changes(server: HttpsServer, noise: bytes, strong: bool) -> None:
    server.etags["/noise"] = '"1"' if strong else 'W/"1"'
    name = server.put("/noise", noise)
    with tf.io.gfile.GFile(name, "rb") as file:
        assert file.read(10) == noise[:10]
        server.etags["/noise"] = '"2"' if strong else 'W/"2"'
        with pytest.raises(tf.errors.FailedPreconditionError, match="has changed since"):
            file.seek(800_000)
            file.read(10)
    if strong:
        assert server.requests[-1].if_match == '"1"'
        assert server.requests[-1].sent == 0


def test_a_file_that_becomes_shorter(server: HttpsServer, noise: bytes) -> None:
    server.etags["/noise"] = 'W/"1"'
    name = server.put("/noise", noise)
    with tf.io.gfile.GFile(name, "rb") as file:
        assert file.read(10) == noise[:10]
        server.files["/noise"] = noise[:700_000]
        with pytest.raises(tf.errors.FailedPreconditionError, match="has changed since"):
            file.seek(800_000)  # the server answers 416
            file.read(10)


def whole(handler: Handler, request: Request) -> bool:
    handler.answer(request, 200, handler.server.owner.files[request.path])
    return True


def another_range(handler: Handler, request: Request) -> bool:
    handler.answer(request, 206, b"0123456789", {"Content-Range": "bytes 5-14/15"})
    return True


def test_a_server_without_ranges(server: HttpsServer, noise: bytes) -> None:
    name = server.put("/noise", noise, whole)
    with pytest.raises(tf.errors.FailedPreconditionError, match="whole files only"):
        read(name)
    assert len(server.requests) == 1


def test_a_server_that_sends_another_range(server: HttpsServer) -> None:
    name = server.put("/a", b"some bytes", first(5, another_range))
    with pytest.raises(tf.errors.UnavailableError, match="other bytes than were asked for"):
        read(name)


def test_certificates(server: HttpsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    name = server.put("/a?key=hidden", b"some bytes")
    # The certificate is for localhost, and open connections have been checked.
    other_host = name.replace("localhost", "127.0.0.1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with pytest.raises(tf.errors.FailedPreconditionError, match="CURL_CA_BUNDLE") as raised:
        read(other_host)
    assert "hidden" not in str(raised.value)
    monkeypatch.setenv("CURL_CA_BUNDLE", __file__)  # holds no certificate
    with pytest.raises(tf.errors.FailedPreconditionError, match="CURL_CA_BUNDLE"):
        read(other_host)
    assert not server.requests


def test_passwords_come_from_netrc(server: HttpsServer, tmp_path: Path) -> None:
    name = server.put("/a", b"some bytes")
    with pytest.raises(tf.errors.InvalidArgumentError, match="netrc") as raised:
        read(name.replace("https://", "https://me:secret@"))
    assert "secret@" not in str(raised.value)
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine localhost login me password secret\n")
    netrc.chmod(0o600)
    assert read(name) == b"some bytes"
    assert {request.authorization for request in server.requests} == {"Basic bWU6c2VjcmV0"}


def test_nothing_is_written(server: HttpsServer) -> None:
    name = server.put("/a", b"some bytes")
    gfile = tf.io.gfile
    for write in (
        lambda: gfile.GFile(name, "w").write("x"),
        lambda: gfile.remove(name),
        lambda: gfile.rename(name, name + "2"),
        lambda: gfile.mkdir(name),
    ):
        with pytest.raises(tf.errors.UnimplementedError, match="only reads"):
            write()
    assert server.files["/a"] == b"some bytes"


@pytest.mark.parametrize(
    "text",
    [
        "#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\n{}\n#EXT-X-ENDLIST\n",
        "ffconcat version 1.0\nfile {}\n",
        "v=0\no=- 0 0 IN IP4 127.0.0.1\nc=IN IP4 127.0.0.1\nm=video 1 RTP/AVP 96\na=control:{}\n",
        '<?xml version="1.0"?><MPD><Period><BaseURL>{}</BaseURL></Period></MPD>',
    ],
    ids=["hls", "concat", "sdp", "dash"],
)
def test_bytes_cause_no_requests(server: HttpsServer, clips: Clips, text: str) -> None:
    inner = server.put("/inner.mp4", clips.data(CLIP))
    name = server.put("/list", text.format(inner).encode())
    for source in (name, tf.io.read_file(name)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="not a video container"):
            list(nvc.iter_video(source))
    assert {request.path for request in server.requests} == {"/list"}


def test_errors_of_a_dataset_hide_the_query(server: HttpsServer) -> None:
    with pytest.raises(ValueError, match="no file matches 'https://.*/gone[?]...'"):
        nvc.VideoDataset(server.address("/gone?key=hidden"), clip_length=4)
    name = server.put("/a.mp4?X-Amz-Signature=hidden", b"no video at all")
    for trick in (None, status(403)):
        server.put("/a.mp4?X-Amz-Signature=hidden", b"no video at all", trick)
        with pytest.raises(tf.errors.OpError) as raised:
            clip_digests([name])
        assert "/a.mp4" in str(raised.value)
        assert "hidden" not in str(raised.value)


GOP, GOPS = 24, 4  # frames of a GOP, GOPs of the large video


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plain 1080p video of 4 s with sound."""
    path = tmp_path_factory.mktemp("large") / "large.mp4"
    video = ["-f", "lavfi", "-i", "testsrc2=s=1920x1080:r=24,noise=alls=20:allf=t"]
    encode = f"-c:v libx264 -preset ultrafast -b:v 8M -g {GOP} -sc_threshold 0 -c:a aac"
    command = ["ffmpeg", "-v", "error", *video, "-f", "lavfi", "-i", "sine", "-t", str(GOPS)]
    subprocess.run([*command, *encode.split(), path], check=True)
    return path


def gop_places(path: Path) -> list[int]:
    """Returns where the GOPs begin in the file, and where the last one ends."""
    ask = ["ffprobe", "-v", "quiet", "-of", "json", "-select_streams", "v", "-show_packets"]
    found = subprocess.run([*ask, path], check=True, capture_output=True).stdout
    packets = json.loads(found)["packets"]
    places = [int(packet["pos"]) for packet in packets if "K" in packet["flags"]]
    assert len(places) == GOPS
    return [*places, max(int(packet["pos"]) + int(packet["size"]) for packet in packets)]


def test_a_clip_costs_its_gops(server: HttpsServer, large: Path, tmp_path: Path) -> None:
    """With a known index, a clip takes two requests, and no more bytes than its GOPs have."""
    name = server.put("/large.mp4", large.read_bytes())
    places = gop_places(large)
    folder = str(tmp_path / "index")
    nvc.index_videos([name], index_cache=folder)
    assert sum(request.sent for request in server.requests) < 0.3 * places[-1]
    for first_frame in (0, 5, 20, 30, 47, 70, 79):
        server.requests.clear()
        at = [(first_frame + 0.5) / 24]
        clips = nvc.VideoDataset([name], 16, clip_at=at, index_cache=folder, size=(32, 32))
        assert len(list(clips)) == 1
        used = places[(first_frame + 15) // GOP + 1] - places[first_frame // GOP]
        assert [request.range == "bytes=0-0" for request in server.requests] == [True, False]
        assert sum(request.sent for request in server.requests) <= 1.01 * used


@pytest.mark.parametrize("container", ["mp4", "mkv"])
def test_a_pass_costs_the_file(
    server: HttpsServer, large: Path, tmp_path: Path, container: str
) -> None:
    """Reading forward, each request asks for more than the one before."""
    path = tmp_path / f"large.{container}"
    copy = ["ffmpeg", "-v", "error", "-i", large, "-c", "copy", "-movflags", "+faststart", path]
    subprocess.run(copy, check=True)
    data = path.read_bytes()
    name = server.put(f"/pass.{container}", data)
    with nvc.iter_video(name, frames=8, size=(32, 32)) as chunks:
        assert sum(len(chunk.pts) for chunk in chunks) == GOP * GOPS
    # An MKV is read once for its index, and once more.
    passes = 1 if container == "mp4" else 2
    assert sum(request.sent for request in server.requests) <= 1.1 * passes * len(data)
    assert len(server.requests) <= 8 * passes


def test_the_command_line(
    server: HttpsServer, clips: Clips, capsys: pytest.CaptureFixture[str]
) -> None:
    large = clips.data(CLIP) + bytes(3_000_000)  # "free space" behind the video
    name = server.put("/a.mp4", large)
    assert main(["probe", name]) == 0
    assert "h264" in capsys.readouterr().out
    assert sum(request.sent for request in server.requests) < 1_000_000
    assert main(["probe", name + "x", server.put("/empty.mp4", b"")]) == 1
    words = capsys.readouterr().err
    assert "no such file" in words
    assert "is empty" in words
    assert main(["probe", "http://localhost/a.mp4"]) == 1
    assert "https:// and s3:// are read" in capsys.readouterr().err
