"""@googletest//:gtest_main: the installed GoogleTest and GoogleMock."""

load("//build_defs:repository.bzl", "run_pkg_config", "symlink_headers")

_CURE = "apt-get install -y libgtest-dev libgmock-dev"

_BUILD = """
cc_library(
    name = "gtest_main",
    testonly = True,
    hdrs = glob(["include/**/*.h"]),
    includes = ["include"],
    linkopts = {linkopts},
    visibility = ["//visibility:public"],
)
"""

def _impl(rctx):
    symlink_headers(rctx, "gtest", "gtest", "GoogleTest", _CURE)
    symlink_headers(rctx, "gmock", "gmock", "GoogleMock", _CURE)
    libs = run_pkg_config(rctx, ["--libs", "gmock", "gtest", "gtest_main"], "GoogleTest", _CURE)
    rctx.file("BUILD", _BUILD.format(linkopts = repr(libs.split(" "))))

googletest_configure = repository_rule(
    implementation = _impl,
    configure = True,
    environ = ["PKG_CONFIG_PATH"],
    local = True,
)
