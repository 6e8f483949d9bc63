"""Writes the versions that python/loader.py compares with the machine's before it loads."""

load("@ffmpeg//:versions.bzl", "FFMPEG_VERSIONS")
load("@tensorflow//:version.bzl", "TENSORFLOW_VERSION")

def _impl(ctx):
    ctx.actions.write(
        ctx.outputs.out,
        json.encode_indent({"ffmpeg": FFMPEG_VERSIONS, "tensorflow": TENSORFLOW_VERSION}) + "\n",
    )

build_info = rule(
    implementation = _impl,
    attrs = {"out": attr.output(mandatory = True)},
    doc = "A JSON file with the versions of the libraries that the build found.",
)
