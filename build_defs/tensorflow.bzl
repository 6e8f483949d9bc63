"""@tensorflow: headers and framework library of the TensorFlow that a Python interpreter imports.

TF_NVCODEC_PYTHON names the interpreter; without it, python3 on PATH.
"""

load("//build_defs:repository.bzl", "fail_missing")

# Reads the wheel's files, because importing TensorFlow takes seconds and GPU memory.
_FIND = """
import importlib.metadata, importlib.util, os
spec = importlib.util.find_spec("tensorflow")
if spec is None or spec.origin is None:
    raise SystemExit("it has no module named tensorflow")
for name in ("tensorflow", "tensorflow-cpu", "tf-nightly"):
    try:
        version = importlib.metadata.version(name)
        break
    except importlib.metadata.PackageNotFoundError:
        pass
else:
    raise SystemExit("tensorflow is not installed as a wheel")
print(version)
print(os.path.dirname(spec.origin))
"""

_BUILD = """
package(default_visibility = ["//visibility:public"])

cc_library(
    name = "framework",
    srcs = ["libtensorflow_framework.so.2"],
    visibility = ["//visibility:private"],
)

# Google's C++ base library as TensorFlow built it: the core's only use of the wheel.
cc_library(
    name = "absl",
    hdrs = glob(["include/absl/**/*.h", "include/absl/**/*.inc"]),
    includes = ["include"],
    deps = [":framework"],
)

cc_library(
    name = "tensorflow",
    hdrs = glob(
        ["include/**/*.h", "include/**/*.inc", "include/Eigen/**", "include/unsupported/**"],
        exclude = [
            "include/absl/**",
            "include/external/**",
            "include/third_party/gpus/**",
        ],
    ),
    defines = ["EIGEN_MAX_ALIGN_BYTES=64"],
    includes = ["include"],
    deps = [":absl"],
)

# The libcurl that TensorFlow has inside, with its own TLS.
cc_library(
    name = "curl",
    hdrs = glob(["include/external/curl/include/curl/*.h"]),
    includes = ["include/external/curl/include"],
    deps = [":framework"],
)

# TensorFlow's C++ API and its kernels, for programs without Python.
cc_library(
    name = "cc",
    srcs = ["libtensorflow_cc.so.2"],
    linkopts = ["-Wl,--no-as-needed"],
    deps = [":tensorflow"],
)
"""

_VERSION_BZL = """TENSORFLOW_VERSION = {version}
"""

def _impl(rctx):
    python = rctx.os.environ.get("TF_NVCODEC_PYTHON", "python3")
    path = rctx.path(python) if python.startswith("/") else rctx.which(python)
    if path == None or not path.exists:
        fail_missing(
            "Python",
            "{} is not there".format(python),
            "set TF_NVCODEC_PYTHON to the interpreter that has TensorFlow",
        )
    result = rctx.execute([path, "-c", _FIND])
    cure = "{} -m pip install tensorflow==2.17.1, or set TF_NVCODEC_PYTHON to a Python that has it"
    if result.return_code != 0:
        fail_missing("TensorFlow of {}".format(path), result.stderr, cure.format(path))
    version, root = result.stdout.strip().split("\n")
    for name in ["include", "libtensorflow_cc.so.2", "libtensorflow_framework.so.2"]:
        if not rctx.path(root + "/" + name).exists:
            fail_missing("TensorFlow's {}".format(name), "not in {}".format(root), cure.format(path))
        rctx.symlink(root + "/" + name, name)
    rctx.file("version.bzl", _VERSION_BZL.format(version = repr(version)))
    rctx.file("BUILD", _BUILD)

tensorflow_configure = repository_rule(
    implementation = _impl,
    configure = True,
    environ = ["PATH", "TF_NVCODEC_PYTHON", "TF_NVCODEC_TF_VERSION"],
    local = True,
)
