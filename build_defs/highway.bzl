"""@highway//:highway: the headers of Google Highway. Nothing of its library is linked."""

load("//build_defs:repository.bzl", "symlink_headers")

_BUILD = """
cc_library(
    name = "highway",
    hdrs = glob(["include/**/*.h"]),
    includes = ["include"],
    visibility = ["//visibility:public"],
)
"""

def _impl(rctx):
    symlink_headers(rctx, "libhwy", "hwy", "Highway", "apt-get install -y libhwy-dev")
    rctx.file("BUILD", _BUILD)

highway_configure = repository_rule(
    implementation = _impl,
    configure = True,
    environ = ["PKG_CONFIG_PATH"],
    local = True,
)
