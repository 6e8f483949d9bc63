"""@nv_codec_headers//:nv_codec_headers: types of the NVIDIA driver's video API, without a library."""

load("//build_defs:repository.bzl", "symlink_headers")

_BUILD = """
cc_library(
    name = "nv_codec_headers",
    hdrs = glob(["include/**/*.h"]),
    includes = ["include"],
    visibility = ["@tf_nvcodec//tf_nvcodec/nv:__subpackages__", "@tf_nvcodec//tests/nv:__subpackages__"],
)
"""

def _impl(rctx):
    symlink_headers(
        rctx,
        "ffnvcodec",
        "ffnvcodec",
        "nv-codec-headers",
        "apt-get install -y libffmpeg-nvenc-dev",
    )
    rctx.file("BUILD", _BUILD)

nv_codec_headers_configure = repository_rule(
    implementation = _impl,
    configure = True,
    environ = ["PKG_CONFIG_PATH"],
    local = True,
)
