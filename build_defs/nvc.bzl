"""The project's C++ rules: one place for compiler flags and for what may depend on what."""

_COPTS = [
    "-std=c++17",
    "-O3",
    "-Wall",
    "-Wextra",
    "-Wno-unused-parameter",
    "-fvisibility=hidden",
    "-D_GLIBCXX_USE_CXX11_ABI=1",
]

def nvc_cc_library(name, deps = [], copts = [], **kwargs):
    """A library of core/ or nv/: no TensorFlow but absl."""
    native.cc_library(
        name = name,
        copts = _COPTS + copts,
        linkstatic = True,  # hidden visibility leaves nothing to link dynamically
        deps = deps + ["@tensorflow//:absl"],
        **kwargs
    )

def nvc_op_kernel(name, srcs, deps = [], **kwargs):
    """An op's registration or its kernel; linked whole, since only static initialisers refer to it."""
    native.cc_library(
        name = name,
        srcs = srcs,
        alwayslink = True,
        copts = _COPTS,
        linkstatic = True,
        deps = deps + ["@tensorflow//:tensorflow"],
        **kwargs
    )

def nvc_c_api(name, deps = [], **kwargs):
    """Functions of the C API; linked whole, since only Python calls them."""
    nvc_cc_library(name = name, alwayslink = True, deps = deps, **kwargs)

def nvc_op_library(name, deps, **kwargs):
    """The shared library that tf.load_op_library opens; it exports the C API only."""
    native.cc_binary(
        name = name,
        linkopts = [
            "-Wl,--version-script,$(location //build_defs:exports.lds)",
            "-Wl,--gc-sections",
            "-Wl,-z,defs",
        ],
        additional_linker_inputs = ["//build_defs:exports.lds"],
        linkshared = True,
        deps = deps,
        **kwargs
    )

def nvc_cc_test(name, deps = [], srcs = None, size = "small", **kwargs):
    """A GoogleTest of a unit that needs no TensorFlow but absl."""
    native.cc_test(
        name = name,
        size = size,
        srcs = srcs or [name + ".cc"],
        # GoogleTest's macros under an if without braces.
        copts = _COPTS + ["-Wno-dangling-else"],
        linkstatic = True,
        deps = deps + ["@googletest//:gtest_main", "@tensorflow//:absl"],
        **kwargs
    )
