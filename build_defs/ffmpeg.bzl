"""@ffmpeg//:ffmpeg: the FFmpeg libraries that pkg-config finds."""

load("//build_defs:repository.bzl", "run_pkg_config", "symlink_headers")

_PACKAGES = ["libavformat", "libavcodec", "libavutil", "libswscale"]
_CURE = "apt-get install -y " + " ".join([package + "-dev" for package in _PACKAGES])

_BUILD = """
cc_library(
    name = "ffmpeg",
    hdrs = glob(["include/**/*.h"]),
    includes = ["include"],
    linkopts = {linkopts},
    visibility = ["//visibility:public"],
)
"""

def _impl(rctx):
    for package in _PACKAGES:
        symlink_headers(rctx, package, package, package, _CURE)
    libs = run_pkg_config(rctx, ["--libs"] + _PACKAGES, "FFmpeg", _CURE)
    versions = {
        package: run_pkg_config(rctx, ["--modversion", package], package, _CURE)
        for package in _PACKAGES
    }
    rctx.file("versions.bzl", "FFMPEG_VERSIONS = {}\n".format(repr(versions)))
    rctx.file("BUILD", _BUILD.format(linkopts = repr(libs.split(" "))))

ffmpeg_configure = repository_rule(
    implementation = _impl,
    configure = True,
    environ = ["PKG_CONFIG_PATH"],
    local = True,
)
