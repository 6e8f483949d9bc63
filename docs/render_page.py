"""Makes a picture of an HTML page that trt-convert wrote, as a browser shows it.

    python docs/render_page.py PAGE.html PICTURE.png [--rows 1200] [--browser chromium]

`--rows` cuts a long page off.

It needs Chromium, which is no dependency of the project.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

# Higher than the page; what is below it is cut off again.
WIDTH, HEIGHT = 1100, 4000
MARGIN = 24


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--rows", type=int, default=HEIGHT)
    parser.add_argument("--browser", default="chromium")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        shot = Path(work) / "shot.png"
        photograph(args.browser, args.page.resolve(), shot, Path(work) / "profile")
        args.picture.write_bytes(cropped(shot.read_bytes(), args.rows))
    print(f"{args.picture}: {args.picture.stat().st_size} bytes")


def photograph(browser: str, html: Path, shot: Path, profile: Path) -> None:
    """Writes a picture of the page to `shot`. Root cannot have the browser's sandbox."""
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += [f"--user-data-dir={profile}", f"--window-size={WIDTH},{HEIGHT}"]
    command += [f"--screenshot={shot}", html.as_uri()]
    subprocess.run(command, check=True, capture_output=True, timeout=120)


def cropped(png: bytes, rows: int) -> bytes:
    """The first rows of the picture, without the empty ones at its end."""
    import tensorflow as tf

    image = tf.io.decode_png(png, channels=3)[:rows]
    used = tf.reduce_any(image != image[-1, -1], axis=(1, 2))
    last = int(tf.where(used)[-1, 0])
    return bytes(tf.io.encode_png(image[: last + MARGIN], compression=9).numpy())


if __name__ == "__main__":
    main()
