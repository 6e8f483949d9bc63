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

def nvc_cuda_text(name, headers = []):
    """A source file with the text of `name`.h for NVRTC: the function that kernel_sources.h declares.

    Args:
      name: Of the kernel's header, without its extension.
      headers: That it includes, of the same package.
    """
    package = native.package_name() + "/"
    function = "".join([word.capitalize() for word in name.split("_")]) + "Source"

    # As raw strings, under the names by which they are included.
    included = [
        """{"%s", R"nvc('
        cat $(location %s)
        echo ')nvc"}""" % (package + header, header)
        for header in headers
    ]
    native.genrule(
        name = name + "_text",
        srcs = [name + ".h"] + headers,
        outs = [name + "_text.cc"],
        cmd = """{
        echo '#include "%skernel_sources.h"'
        echo 'namespace nvc {'
        echo 'const CudaSource& %s() {'
        echo 'static const auto* source = new CudaSource{"%s.h", R"nvc('
        cat $(location %s.h)
        echo ')nvc", {%s}};'
        echo 'return *source;'
        echo '}'
        echo '}'
    } > $@""" % (package, function, name, name, ", ".join(included)),
    )

def nvc_op_kernel(name, srcs, deps = [], **kwargs):
    """Ops' registrations or kernels; linked whole, since only static initialisers refer to them."""
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

def nvc_cc_test_library(name, deps = [], **kwargs):
    """What several tests share."""
    native.cc_library(
        name = name,
        testonly = True,
        copts = _COPTS + ["-Wno-dangling-else"],
        linkstatic = True,
        deps = deps + ["@googletest//:gtest_main", "@tensorflow//:absl"],
        **kwargs
    )
