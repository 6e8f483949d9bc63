"""The times of the frames of one output file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tf_nvcodec.cli.errors import CliError

if TYPE_CHECKING:
    from numpy.typing import NDArray

# These containers store no time for a frame: it plays at the rate of the file.
_UNTIMED = ("avi", "raw", "obu")
_MP4_LIKE = ("mp4", "mov")
# Matroska's clock ticks once a millisecond, so even frames read from it are this uneven, in
# seconds.
_UNEVEN_S = 0.0011


class FileClock:
    """Turns the times of an input's frames into those of the file they go to, from 0 on.

    Args:
      source: The input's name, for errors.
      output: The output's name, for errors.
      container: The output's container.
      fps: The output's frames per second.
      retime: Whether the frames get even times at that rate, whatever the input's are.
    """

    def __init__(self, source: str, output: str, container: str, fps: float, retime: bool) -> None:
        self._source = source
        self._output = output
        self._container = container
        self._fps = fps
        self._retime = retime
        self._frames = 0
        self._origin = 0.0
        self._last: float | None = None  # of the input's times

    def times(self, pts: NDArray[Any]) -> NDArray[Any] | None:
        """Returns the seconds of the file's next frames, or None to use the file's own rate.

        Args:
          pts: The input's seconds of at least one frame.

        Raises:
          CliError: The times do not rise, or the container can't hold them.
        """
        import numpy as np

        even = (self._frames + np.arange(len(pts))) / self._fps
        times = even
        if not self._retime:
            self._check_rise(pts)
            if self._frames == 0:
                self._origin = float(pts[0])
            times = pts - self._origin
            self._last = float(pts[-1])
        self._frames += len(pts)
        # The times were even before a clock of milliseconds rounded them. Even times let MP4 have
        # B-frames.
        if self._container in _MP4_LIKE and np.abs(times - even).max() <= _UNEVEN_S:
            return even
        if self._container not in _UNTIMED:
            return times
        if np.abs(np.diff(times) - 1 / self._fps).max(initial=0) > 2 * _UNEVEN_S:
            raise CliError(
                self._output,
                "the frames are unevenly spaced, which this container can't hold",
                "write .mp4, .mkv or .ts, or give an even rate with --fps",
            )
        return None

    def _check_rise(self, pts: NDArray[Any]) -> None:
        import numpy as np

        joined = pts if self._last is None else np.concatenate([[self._last], pts])
        back = np.flatnonzero(np.diff(joined) <= 0)
        if len(back) > 0:
            before, after = joined[back[0]], joined[back[0] + 1]
            raise CliError(
                self._source,
                f"the frames' times must rise, but go from {before:.3f} s to {after:.3f} s, as in"
                " streams that were joined",
                "give an even rate with --fps",
            )
