"""Makes H.264 look scalable. It adds data to each slice that only decoders of SVC or MVC read."""

from __future__ import annotations

import re

_PREFIX, _EXTENSION = 14, 20  # the nal_unit_types of H.264's annexes G and H


def with_second_layer(packet: bytes) -> bytes:
    """Takes and returns a packet in Annex B. It adds a prefix before each slice. At the end of the
    packet, it adds slices of a second layer, which it makes of the first layer's bytes."""
    units = [unit for unit in re.split(b"\0\0\0?\1", packet) if unit]
    layered, above = [], []
    for unit in units:
        if unit[0] & 31 in (1, 5):
            importance = unit[0] & 0x60
            layered.append(bytes([importance | _PREFIX, 0x80, 0x00, 0x07, 0x20]))
            above.append(bytes([importance | _EXTENSION, 0x80, 0x10, 0x07]) + unit[1:])
        layered.append(unit)
    return b"".join(b"\0\0\0\1" + unit for unit in layered + above)
