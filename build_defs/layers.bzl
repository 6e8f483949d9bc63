"""The order of the C++ folders. A folder may use those before it in this list, and no others."""

_LAYERS = [
    "core/base",
    "core/remote",
    "core/format",
    "core/ffmpeg",
    "core/bitstream",
    "core/demux",
    "core/index",
    "core/rows",
    "core/convert",
    "core/decode",
    "core/encode",
    "core/mux",
    "core/clips",
    "nv/cuda",
    "nv/kernels",
    "nv/decode",
    "nv/convert",
    "nv/encode",
    "capi",
    "kernels",
]

def visible_after(folder):
    """The visibility of `folder`: the folders after it in the list, and the tests."""
    later = _LAYERS[_LAYERS.index(folder) + 1:]
    return ["//tf_nvcodec/{}:__pkg__".format(layer) for layer in later] + [
        "//tests:__subpackages__",
    ]
