"""Tests every code block of the documentation. CONTRIBUTING.md says what their languages mean."""

from __future__ import annotations

import importlib.util
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
import tensorflow as tf

import tf_nvcodec as nvc
from tf_nvcodec import dispatcher, worker
from tf_nvcodec.cli import main
from tf_nvcodec.cli.app import build_parser

ROOT = Path(__file__).resolve().parents[2]
CLIP = ROOT / "tests" / "golden" / "media" / "bigbuckbunny_720p.mp4"
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "benchmarks" / "README.md",
]
LANGUAGES = {"", "sh", "bash", "py", "python", "python gpu", "dockerfile", "starlark"}
SERVICE = "grpc://head:5050"


class Block(NamedTuple):
    page: str
    language: str
    line: int
    code: str


def blocks_of(page: Path) -> list[Block]:
    found, opened = [], None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if not line.startswith("```"):
            if opened is not None:
                opened[2].append(line)
        elif opened is None:
            opened = (line[3:], number, [])
        else:
            language, first, lines = opened
            name = page.relative_to(ROOT).as_posix()
            found.append(Block(name, language, first, "\n".join(lines) + "\n"))
            opened = None
    assert opened is None, f"{page}:{opened}: a block that does not end"
    return found


BLOCKS = [block for page in PAGES for block in blocks_of(page)]


def having(*languages: str) -> list[Block]:
    return [block for block in BLOCKS if block.language in languages]


def named(block: Block) -> str:
    return f"{block.page}:{block.line}"


def run(page: str, scope: dict[str, Any], languages: tuple[str, ...] = ("python",)) -> None:
    blocks = [block for block in having(*languages) if block.page == page]
    assert blocks, page
    for block in blocks:
        code = block.code.replace(SERVICE, scope.get("service_address", SERVICE))
        # Blank lines before the code let errors show its line in the page.
        exec(compile("\n" * block.line + code, str(ROOT / page), "exec"), scope)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Makes the files that the pages read, clip.mp4 and videos/, and changes to their folder."""
    (tmp_path / "videos").mkdir()
    for name in ("clip.mp4", "videos/a.mp4", "videos/b.mp4"):
        shutil.copy(CLIP, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TF_NVCODEC_INDEX_CACHE", str(tmp_path / "cache"))
    return tmp_path


def readme(folder: Path) -> None:
    scope: dict[str, Any] = {}
    run("README.md", scope)
    assert scope["video"].frames.shape == (50, 224, 224, 3)
    assert scope["first_last"].frames.shape == (2, 720, 1280, 3)
    assert next(iter(scope["clips"]))["frames"].shape == (8, 16, 112, 112, 3)
    assert (folder / "small.mp4").stat().st_size > 1000


def decode(folder: Path) -> None:
    scope: dict[str, Any] = {}
    run("docs/decode.md", scope)
    assert scope["every_second"].frames.shape == (66, 720, 1280, 3)
    assert scope["tail"].frames.shape[0] == 10
    assert scope["at_times"].pts.numpy().tolist() == [0.48, 2.0, 0.48]
    assert scope["inputs"].frames.shape == (16, 224, 224, 3)
    assert scope["exact"].frames.shape == (1, 1280 * 720 * 3 // 2)
    assert scope["lenient"].valid.numpy().all()
    assert [frames.shape for frames in scope["frames"]] == [(8, 112, 112, 3)] * 2


def dataset(folder: Path) -> None:
    service = tf.data.experimental.service
    dispatcher = service.DispatchServer()
    address = dispatcher.target.partition("://")[2]
    worker = service.WorkerServer(service.WorkerConfig(dispatcher_address=address))
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    scope: dict[str, Any] = {"service_address": dispatcher.target, "strategy": strategy}
    scope |= {"total": 8, "numbers": tf.constant([6, 1], tf.int64)}
    for name in ("films/run/1.mp4", "films/run/2.mp4", "films/jump/1.mp4", "films/jump/2.mp4"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(CLIP, folder / name)
    (table,) = (b.code for b in having("") if b.page == "docs/dataset.md" and "start,end" in b.code)
    (folder / "videos" / "rows.csv").write_text(table)
    run("docs/dataset.md", scope)
    assert scope["training"].class_names == ["jump", "run"]
    assert int(scope["rows"].cardinality()) == 6 + 7 + 12
    assert sum(len(label) for _, label in scope["pairs"]) == 25
    assert scope["frames"].shape == (8, 16, 224, 224, 3)
    assert int(scope["clips"].cardinality()) == scope["total"]
    came = [(int(c["video_index"]), int(c["clip_index"])) for c in scope["again"]]
    assert sorted(came) == [(0, 1), (1, 2)]
    (batch,) = scope["batches"]
    assert batch["frames"].shape == (8, 16, 224, 224, 3)
    del scope, batch, worker


def export(folder: Path) -> None:
    scope: dict[str, Any] = {}
    run("docs/export.md", scope)
    assert scope["answer"]["labels"].numpy()[0, 0] in (b"cat", b"dog")
    assert [bool(status) for status in scope["answer"]["status"].numpy()] == [False, True]


def train_to_serve(folder: Path) -> None:
    random = np.random.default_rng(1)
    for name in ("train/cat/1.mp4", "train/dog/1.mp4"):
        frames = random.integers(0, 255, (30, 64, 64, 3), np.uint8)
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_bytes(nvc.encode_video(frames).numpy())
    scope: dict[str, Any] = {}
    run("docs/train_to_serve.md", scope)
    assert scope["made"].clip_length == 8
    assert scope["answer"]["labels"].numpy()[0, 0] in (b"cat", b"dog")
    assert [bool(status) for status in scope["answer"]["status"].numpy()] == [False, True]


def nvdec(folder: Path) -> None:
    # PyTorch need not be installed. This object takes an array by DLPack and returns it.
    torch = SimpleNamespace(from_dlpack=lambda frames: frames)
    contents = nvc.encode_video(np.zeros((4, 64, 64, 3), np.uint8))
    scope: dict[str, Any] = {"nvc": nvc, "torch": torch, "contents": contents}
    run("docs/nvdec.md", scope)
    np.testing.assert_array_equal(scope["tensor"], scope["frames"])


def compat(folder: Path) -> None:
    scope: dict[str, Any] = {}
    run("docs/pynvvideocodec.md", scope)
    assert scope["pixels"].shape == (1080, 1280)
    assert next(iter(scope["clips"]))["frames"].shape == (2, 16, 224, 224, 3)


def compat_encoding(folder: Path) -> None:
    frames = [np.full((1080 * 3 // 2, 1920), 40 * i, np.uint8) for i in range(3)]
    run("docs/pynvvideocodec_encoding.md", {"frames": frames})
    assert int(nvc.probe((folder / "clip.h264").read_bytes()).num_frames) == 3


def encode(folder: Path) -> None:
    scope: dict[str, Any] = {"nvc": nvc, "model": tf.identity, "batch": tf.zeros([2, 288, 352, 3])}
    if not nvc.is_available("nvenc"):
        with pytest.raises(tf.errors.FailedPreconditionError, match="NVENC|libcuda"):
            run("docs/encode.md", scope)
        return
    run("docs/encode.md", scope)
    assert int(nvc.probe(scope["video"]).num_frames) == 2


def benchmarks(folder: Path) -> None:
    scope: dict[str, Any] = {}
    run("benchmarks/README.md", scope)
    assert issubclass(scope["MyReader"], scope["Peer"])


RUNS: dict[str, Callable[[Path], None]] = {
    "README.md": readme,
    "docs/decode.md": decode,
    "docs/dataset.md": dataset,
    "docs/encode.md": encode,
    "docs/export.md": export,
    "docs/train_to_serve.md": train_to_serve,
    "docs/nvdec.md": nvdec,
    "docs/pynvvideocodec.md": compat,
    "docs/pynvvideocodec_encoding.md": compat_encoding,
    "benchmarks/README.md": benchmarks,
}


def any_other(page: str) -> None:
    """Runs a page that needs only these names and the files of `folder`."""
    run(page, {"nvc": nvc, "np": np, "tf": tf, "contents": CLIP.read_bytes()})


@pytest.mark.parametrize("page", sorted({*RUNS, *(block.page for block in having("python"))}))
def test_python_runs(page, folder, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    if page in RUNS:
        RUNS[page](folder)
    else:
        any_other(page)


@pytest.mark.gpu
def test_python_runs_on_a_gpu(folder):
    (page,) = {block.page for block in having("python gpu")}
    scope: dict[str, Any] = {"tf": tf, "nvc": nvc, "contents": CLIP.read_bytes()}
    run(page, scope, ("python gpu",))
    assert "GPU" in scope["video"].frames.device
    assert next(iter(scope["clips"]))["frames"].shape[1:] == (16, 224, 224, 3)


@pytest.mark.parametrize("block", BLOCKS, ids=named)
def test_languages(block):
    assert block.language in LANGUAGES
    if block.language == "":
        code = re.search(
            r"^(import|from|with|def|make|python|\$)\b|\bnvc\.|\btf\.", block.code, re.M
        )
        assert code is None, "a block of code needs its language"
    elif block.language.startswith("py"):
        compile(block.code, block.page, "exec")


def commands() -> list[tuple[str, list[str]]]:
    found = []
    for block in having("sh", "bash"):
        for line in block.code.replace("&&", "\n").splitlines():
            words = shlex.split(line, comments=True)
            while words and re.match(r"\w+=", words[0]):
                words.pop(0)
            if words:
                found.append((named(block), words))
    return found


@pytest.mark.parametrize(
    ("place", "words"), commands(), ids=lambda v: v if isinstance(v, str) else " ".join(v)
)
def test_what_commands_name_is_there(place, words, monkeypatch):
    """This test skips the options of trt-convert, because tests/converters parses its commands."""
    program = words[0]
    if program == "make":
        targets = re.search(r"^\.PHONY:(.*)$", (ROOT / "Makefile").read_text(), re.M)[1].split()
        assert words[1] in targets
    elif program.startswith("scripts/"):
        assert (ROOT / program).is_file()
    elif Path(program).name == "python" and words[1] == "-m":
        monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
        assert importlib.util.find_spec(words[2]) is not None
    elif Path(program).name == "python":
        assert words[1] == "my_script.py" or (ROOT / words[1]).is_file()
    else:
        assert program in ("tf-nvcodec", "trt-convert", "pip", "curl")


@pytest.mark.parametrize("page", ["README.md", "docs/cli.md"])
def test_tf_nvcodec_runs(page, folder, capsys):
    lines = [words for place, words in commands() if place.startswith(f"{page}:")]
    lines = [words[1:] for words in lines if words[0] == "tf-nvcodec"]
    assert len(lines) >= 5
    for words in lines:
        if words == ["doctor"]:  # The exit status of doctor depends on the machine.
            build_parser().parse_args(words)
        else:
            assert main(words) == 0, (words, capsys.readouterr().err)


@pytest.mark.parametrize("page", ["docs/deploy.md", "docs/export.md"])
def test_tf_nvcodec_parses(page):
    """These commands need a network or start a server; tests/deploy and tests/export run them."""
    lines = [words for place, words in commands() if place.startswith(f"{page}:")]
    lines = [words[1:] for words in lines if words[0] == "tf-nvcodec"]
    assert lines
    for words in lines:
        build_parser().parse_args(words)


def test_commands_of_the_service_parse():
    programs = {"tf_nvcodec.dispatcher": dispatcher, "tf_nvcodec.worker": worker}
    found = [words[2:] for _, words in commands() if words[2:3] and words[2] in programs]
    assert {words[0] for words in found} == set(programs)
    for program, *options in found:
        programs[program].build_parser().parse_args(options)


def anchors(page: Path) -> set[str]:
    """Returns the anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link
