"""Passes destroyed contexts, and numbers that are no context. They must give errors, not crashes.

python tests/gpu/destroyed_contexts.py      # prints what it did, "all refused" at the end
"""

from __future__ import annotations

from collections.abc import Callable

import gpu_checks  # noqa: F401  (leaves GPU memory to the decoders)
from cuda_arrays import Context, Stream
from gpu_clips import data

import tf_nvcodec.compat as nvc


def refused(what: str, call: Callable[[], object], words: str) -> None:
    print(what, end=": ", flush=True)
    try:
        call()
    except nvc.PyNvVCException as error:
        print(error, flush=True)
        assert words in str(error), f"without {words!r}"
    else:
        raise AssertionError("no error")


def main() -> None:
    demuxer = nvc.CreateDemuxer(data("h264.mp4"))
    packets = list(demuxer)
    codec = demuxer.GetNvCodecId()

    def create(**options: object) -> nvc.PyNvDecoder:
        return nvc.CreateDecoder(codec=codec, backend="nvdec", usedevicememory=True, **options)

    none = "is no CUDA context"
    refused("nonsense", lambda: create(cudacontext=12345), none)
    refused("nonsense as a stream", lambda: create(cudastream=12345), "is no CUDA stream")
    context = Context()
    of_it, handle = context.stream(), context.handle
    elsewhere = Stream().handle
    another = "of another context"
    refused("its stream in the primary one", lambda: create(cudastream=of_it), another)
    refused(
        "a stream of the primary one in it",
        lambda: create(cudacontext=handle, cudastream=elsewhere),
        another,
    )

    decoder = create(cudacontext=handle, cudastream=of_it)
    frames = [frame for packet in packets[:12] for frame in decoder.Decode(packet)]
    print(len(frames), "frames in it", flush=True)
    assert frames
    context.destroy()
    refused("decoding after its end", lambda: decoder.Decode(packets[12]), "is destroyed")
    del frames
    print("frames let go", flush=True)
    del decoder
    print("decoder let go", flush=True)
    refused("a destroyed one", lambda: create(cudacontext=handle), none)

    with Context() as context:  # It may have the address of the destroyed one.
        decoder = create(cudacontext=context.handle)
        count = sum(len(decoder.Decode(packet)) for packet in packets)
        assert count == 48, count
        del decoder
    decoder = create()
    count = sum(len(decoder.Decode(packet)) for packet in packets)
    assert count == 48, count
    print("all refused", flush=True)


if __name__ == "__main__":
    main()
