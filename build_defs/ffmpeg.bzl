"""@ffmpeg//:ffmpeg: the FFmpeg libraries that pkg-config finds.

With TF_NVCODEC_STATIC_FFMPEG, the static ones in the folder that it names. Whatever links them
keeps all of their symbols to itself, so that another FFmpeg may be in the same process.
"""

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

# Their assembler refers to symbols of its own library directly.
_STATIC_LINKOPTS = ["-Wl,--exclude-libs,ALL", "-Wl,-Bsymbolic"]

def _impl(rctx):
    static = rctx.os.environ.get("TF_NVCODEC_STATIC_FFMPEG")
    search = {"PKG_CONFIG_PATH": static + "/lib/pkgconfig"} if static else {}
    for package in _PACKAGES:
        symlink_headers(rctx, package, package, package, _CURE, search)
    how = ["--static", "--libs"] if static else ["--libs"]
    libs = run_pkg_config(rctx, how + _PACKAGES, "FFmpeg", _CURE, search).split(" ")
    if static:
        # FFmpeg names libatomic on every processor; this one does without.
        libs = [lib for lib in libs if lib != "-latomic"]
        libs = ["-L" + static + "/lib"] + libs + _STATIC_LINKOPTS
    versions = {
        package: run_pkg_config(rctx, ["--modversion", package], package, _CURE, search)
        for package in _PACKAGES
    }
    rctx.file("versions.bzl", "FFMPEG_VERSIONS = {}\n".format(repr(versions)))
    rctx.file("BUILD", _BUILD.format(linkopts = repr(libs)))

ffmpeg_configure = repository_rule(
    implementation = _impl,
    configure = True,
    environ = ["PKG_CONFIG_PATH", "TF_NVCODEC_STATIC_FFMPEG"],
    local = True,
)
