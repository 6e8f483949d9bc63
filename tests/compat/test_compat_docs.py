"""docs/pynvvideocodec.md: what it shows runs, and it names all that there is of decoding."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import tf_nvcodec.compat as nvc

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "pynvvideocodec.md"
CLIP = ROOT / "tests" / "golden" / "media" / "bigbuckbunny_720p.mp4"


def test_the_decoding_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(CLIP, tmp_path / "clip.mp4")
    monkeypatch.chdir(tmp_path)
    decoding = PAGE.read_text().partition("\n## Encoding")[0]
    codes = re.findall(r"```python\n(.*?)```", decoding, re.DOTALL)
    assert len(codes) >= 3
    scope: dict = {}
    for code in codes:
        exec(compile(code, PAGE.name, "exec"), scope)
    assert scope["pixels"].shape == (1080, 1280)
    assert next(iter(scope["clips"]))["frames"].shape == (2, 16, 224, 224, 3)


@pytest.mark.parametrize(
    "kind",
    [
        nvc.PyNvDemuxer,
        nvc.PacketData,
        nvc.PyNvDecoder,
        nvc.DecodedFrame,
        nvc.SimpleDecoder,
        nvc.ThreadedDecoder,
    ],
)
def test_every_name_is_on_the_page(kind: type) -> None:
    text = PAGE.read_text()
    text = re.sub(r"`(\w+)Num`/`Den`", r"`\1Num` `\1Den`", text)
    for name in vars(kind):
        if not name.startswith("_"):
            assert re.search(rf"\b{name}\b", text), name


def test_what_the_page_says_is_not_here_is_not() -> None:
    for names in re.findall(r"^\| (.*?) \| not here", PAGE.read_text(), re.MULTILINE):
        for name in re.findall(r"`(\w+)`", names):
            for kind in (nvc.PyNvDemuxer, nvc.PyNvDecoder, nvc.DecodedFrame, nvc):
                assert not hasattr(kind, name), name
