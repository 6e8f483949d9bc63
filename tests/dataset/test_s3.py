"""s3:// against moto's server, where botocore checks the signatures (support/s3_server.py)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import tensorflow as tf
from golden_clips import Clips
from s3_server import KEY_ID, REGION, SECRET, SHORT_PAGE, TOKEN, S3Server
from test_https import clip_digests, read

import tf_nvcodec as nvc

CLIP = "h264.mp4"
ODD = "a folder/ö +&=%2F#?;'()~*$.bin"


@pytest.fixture(scope="module")
def started() -> Iterator[S3Server]:
    server = S3Server()
    yield server
    server.close()


@pytest.fixture
def s3(started: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[S3Server]:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", started.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_REGION", REGION)
    monkeypatch.setenv("TF_NVCODEC_HTTP_ATTEMPTS", "3")
    started.requests.clear()
    started.errors.clear()
    yield started


@pytest.mark.parametrize("key", ["a.bin", ODD, "a/../b", "//c", "d/./e"])
@pytest.mark.parametrize("token", ["", TOKEN])
def test_signatures(s3: S3Server, monkeypatch: pytest.MonkeyPatch, key: str, token: str) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", token)
    name = s3.put("keys", key, b"some bytes")
    assert read(name) == b"some bytes"
    assert len(s3.requests) == 2
    assert all(request.signed and request.status == 206 for request in s3.requests)
    assert {request.token for request in s3.requests} == {token or None}


def test_files(s3: S3Server) -> None:
    name = s3.put("files", ODD, b"some bytes")
    found = tf.io.gfile.stat(name)
    assert (found.length, found.is_directory) == (10, False)
    assert found.mtime_nsec > 1_600_000_000 * 10**9
    assert tf.io.gfile.exists(name)
    assert not tf.io.gfile.exists(name + "x")
    assert read(s3.put("files", "empty", b"")) == b""
    with pytest.raises(tf.errors.NotFoundError, match="404 .NoSuchKey"):
        read("s3://files/gone")
    with pytest.raises(tf.errors.NotFoundError, match="404 .NoSuchBucket"):
        read("s3://nowhere/gone")
    with pytest.raises(tf.errors.InvalidArgumentError, match="is a bucket"):
        read("s3://files/")
    with pytest.raises(tf.errors.InvalidArgumentError, match="s3://bucket/folder/video.mp4"):
        read("s3:///files")


def test_lists(s3: S3Server) -> None:
    names = [s3.put("lists", f"videos/{number:02}.mp4", b"v") for number in range(3 * SHORT_PAGE)]
    s3.put("lists", "videos/", b"")  # stands for the folder
    s3.put("lists", "videos/notes.txt", b"n")
    s3.put("lists", "videos/deeper/more.mp4", b"v")
    s3.put("lists", "videos & more/a&b <c>.mp4", b"v")
    gfile = tf.io.gfile
    assert sorted(gfile.glob("s3://lists/videos/*.mp4")) == names
    assert len(s3.requests) == 4
    assert gfile.glob("s3://lists/videos/0[12]*") == names[1:3]
    assert gfile.glob("s3://lists/*/*/*.mp4") == ["s3://lists/videos/deeper/more.mp4"]
    assert gfile.glob("s3://lists/vid*") == ["s3://lists/videos", "s3://lists/videos & more"][::-1]
    assert gfile.glob("s3://lists/videos & more/*") == ["s3://lists/videos & more/a&b <c>.mp4"]
    assert gfile.glob("s3://lists/none*") == []
    assert gfile.glob(names[0]) == names[:1]
    assert sorted(gfile.listdir("s3://lists")) == ["videos", "videos & more"]
    expected = [name.rsplit("/", 1)[1] for name in names] + ["deeper", "notes.txt"]
    assert sorted(gfile.listdir("s3://lists/videos/")) == sorted(expected)
    assert [gfile.isdir(name) for name in ("s3://lists", "s3://lists/videos", names[0])] == [
        True,
        True,
        False,
    ]
    with pytest.raises(tf.errors.NotFoundError):
        gfile.listdir("s3://lists/none")
    assert tf.io.matching_files("s3://lists/videos/*.mp4").numpy().tolist() == [
        name.encode() for name in names
    ]


def test_videos(s3: S3Server, clips: Clips) -> None:
    names = [CLIP, "hevc.mp4", "vp9.webm"]
    for name in names:
        s3.put("videos", f"some/{name}", clips.data(name))
    local = clip_digests([str(clips.path(name)) for name in sorted(names)])
    assert clip_digests("s3://videos/some/*") == local


def test_profiles(s3: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name)
    folder = tmp_path / ".aws"
    folder.mkdir()
    (folder / "credentials").write_text(
        f"[lab]\naws_access_key_id = {KEY_ID}\naws_secret_access_key = {SECRET}\n"
    )
    (folder / "config").write_text(
        f"[profile lab]\nregion = {REGION}\nendpoint_url = {s3.endpoint}\n"
        f"[profile work]\nsso_session = work\nendpoint_url = {s3.endpoint}\n"
    )
    name = s3.put("profiles", "a", b"some bytes")
    monkeypatch.setenv("AWS_PROFILE", "lab")
    assert read(name) == b"some bytes"
    assert s3.requests[0].signed
    monkeypatch.setenv("AWS_PROFILE", "work")
    with pytest.raises(tf.errors.FailedPreconditionError, match="export-credentials"):
        read(name)
    monkeypatch.setenv("AWS_PROFILE", "none")
    with pytest.raises(tf.errors.FailedPreconditionError, match="no AWS profile"):
        read(name)


def test_the_region_of_a_bucket_is_learned(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_REGION")
    name = s3.put("elsewhere", "a", b"some bytes")
    assert read(name) == b"some bytes"
    assert [request.status for request in s3.requests] == [400, 206, 206]
    assert read(name) == b"some bytes"
    assert len(s3.requests) == 5


def test_without_keys(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    public = s3.put("mixed", "public", b"some bytes", public=True)
    private = s3.put("mixed", "private", b"some bytes")
    monkeypatch.setenv("AWS_NO_SIGN_REQUEST", "yes")
    assert read(public) == b"some bytes"
    assert not any(request.signed for request in s3.requests)
    with pytest.raises(tf.errors.PermissionDeniedError, match="403 .*no keys were found"):
        read(private)
    monkeypatch.delenv("AWS_NO_SIGN_REQUEST")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    assert read(public) == b"some bytes"
    # A file is found without the permission to list.
    with pytest.raises(tf.errors.PermissionDeniedError):
        tf.io.gfile.exists(private)


def test_errors_tell_no_secret(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    name = s3.put("secrets", "a", b"some bytes")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong" + SECRET)
    monkeypatch.setenv("AWS_SESSION_TOKEN", TOKEN)
    with pytest.raises(tf.errors.PermissionDeniedError, match="SignatureDoesNotMatch") as raised:
        read(name)
    for secret in (SECRET, TOKEN, KEY_ID):
        assert secret not in str(raised.value)


def test_a_server_that_is_busy(s3: S3Server) -> None:
    name = s3.put("busy", "a", b"some bytes")
    s3.errors += [(503, "SlowDown"), (500, "InternalError")]
    assert read(name) == b"some bytes"
    s3.errors += [(503, "SlowDown")] * 3
    with pytest.raises(tf.errors.UnavailableError, match="503 .SlowDown., after 3 attempts"):
        read(name)
    s3.errors += [(503, "SlowDown")]
    assert tf.io.gfile.glob("s3://busy/*") == [name]


def test_an_object_that_is_replaced(s3: S3Server) -> None:
    name = s3.put("replaced", "a", bytes(1_000_000))
    with tf.io.gfile.GFile(name, "rb") as file:
        assert file.read(10) == bytes(10)
        s3.put("replaced", "a", bytes(range(250)) * 4000)
        with pytest.raises(tf.errors.FailedPreconditionError, match="has changed since"):
            file.seek(800_000)
            file.read(10)


def test_nothing_is_written(s3: S3Server) -> None:
    name = s3.put("written", "a", b"some bytes")
    gfile = tf.io.gfile
    for write in (
        lambda: gfile.GFile(name, "w").write("x"),
        lambda: gfile.remove(name),
        lambda: gfile.rename(name, name + "2"),
        lambda: gfile.copy(__file__, "s3://written/b"),
        lambda: gfile.makedirs("s3://written/folder"),
    ):
        with pytest.raises(tf.errors.UnimplementedError, match="aws s3 cp"):
            write()
    assert read(name) == b"some bytes"


OTHER = """
import sys
import tensorflow as tf
tf.experimental.register_filesystem_plugin(sys.argv[1])
import tf_nvcodec
assert "https" in tf.io.gfile.get_registered_schemes()
tf.io.gfile.exists("s3://bucket/a")
"""


def test_the_file_system_of_another_library_stays(tmp_path: Path) -> None:
    plugin = tmp_path / "other_s3.so"
    source = Path(__file__).parents[1] / "support" / "other_s3.cc"
    flags = tf.sysconfig.get_compile_flags() + tf.sysconfig.get_link_flags()
    compiler = os.environ.get("CXX", "g++")
    subprocess.run([compiler, "-shared", "-fPIC", "-O0", "-o", plugin, source, *flags], check=True)
    path = [str(Path(nvc.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-c", OTHER, plugin],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "DataLossError: this is the other s3" in done.stderr
