"""Joins MPEG-TS files end to end without a break in their packets' counters.

The format is that of ISO/IEC 13818-1, 2.4.3.3. A packet has 188 bytes. 13 bits of bytes 1 and 2 are
the PID, the low four bits of byte 3 the continuity counter. The counter goes up by one with each
packet of a PID that has a payload (bit 0x10 of byte 3). A gap in it tells a reader that data was
lost.
"""

from __future__ import annotations

import numpy as np

_PACKET_BYTES = 188


class TsJoiner:
    """Renumbers files one after another, each as the continuation of those before it."""

    def __init__(self) -> None:
        self._last: dict[int, int] = {}  # PID -> counter of its last packet

    def __call__(self, data: bytes) -> bytes:
        packets = np.frombuffer(data, np.uint8).reshape(-1, _PACKET_BYTES).copy()
        pids = (packets[:, 1] & 0x1F).astype(np.int32) << 8 | packets[:, 2]
        for pid in np.unique(pids):
            own = np.flatnonzero(pids == pid)
            counters = packets[own, 3] & 0x0F
            first_has_payload = bool(packets[own[0], 3] & 0x10)
            if pid in self._last:
                wanted = self._last[pid] + (1 if first_has_payload else 0)
                counters = (counters + wanted - int(counters[0])) & 0x0F
                packets[own, 3] = (packets[own, 3] & 0xF0) | counters
            self._last[int(pid)] = int(counters[-1])
        return packets.tobytes()
