"""@ffmpeg//:ffmpeg: the FFmpeg libraries that pkg-config finds.

With TF_NVCODEC_STATIC_FFMPEG, the static ones in the folder that it names. Whatever links them
keeps all of their symbols to itself, so that another FFmpeg may be in the same process. With
TF_NVCODEC_SYSROOT besides, it is linked with the C and C++ libraries in that folder, which are older
than the compiler's.
"""

load("//build_defs:repository.bzl", "run_pkg_config", "symlink_headers")

_PACKAGES = ["libavformat", "libavcodec", "libavutil", "libswscale"]
_CURE = "apt-get install -y " + " ".join([package + "-dev" for package in _PACKAGES])

# Nothing includes ffversion.h. Without it, the headers of Debian's FFmpeg and of the static one are the
# same, and a change from one to the other only links again.
_BUILD = """
cc_library(
    name = "ffmpeg",
    hdrs = glob(["include/**/*.h"], exclude = ["**/ffversion.h"]),
    includes = ["include"],
    linkopts = {linkopts},
    visibility = ["//visibility:public"],
    deps = {deps},
)
"""

_OLD_GLIBC = """
cc_library(
    name = "old_glibc",
    srcs = ["old_glibc.cc"],
    copts = ["-fvisibility=hidden"],
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
    sysroot = rctx.os.environ.get("TF_NVCODEC_SYSROOT")
    if sysroot:
        folders = ["/gcc", "/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu"]
        libs = ["--sysroot=" + sysroot] + ["-L" + sysroot + folder for folder in folders] + libs
        libs += ["-lpthread", "-ldl"]  # libraries of their own before glibc 2.34
        rctx.symlink(rctx.path(Label("//build_defs:old_glibc.cc")), "old_glibc.cc")
    versions = {
        package: run_pkg_config(rctx, ["--modversion", package], package, _CURE, search)
        for package in _PACKAGES
    }
    rctx.file("versions.bzl", "FFMPEG_VERSIONS = {}\n".format(repr(versions)))
    deps = [":old_glibc"] if sysroot else []
    build = _BUILD.format(linkopts = repr(libs), deps = repr(deps))
    rctx.file("BUILD", build + (_OLD_GLIBC if sysroot else ""))

ffmpeg_configure = repository_rule(
    implementation = _impl,
    configure = True,
    environ = ["PKG_CONFIG_PATH", "TF_NVCODEC_STATIC_FFMPEG", "TF_NVCODEC_SYSROOT"],
    local = True,
)
