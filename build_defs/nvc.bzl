"""The project's C++ rules: the compiler flags, and which kind of unit may depend on which."""

_ALL_COPTS = [
    "-std=c++17",
    "-Wall",
    "-Wextra",
    "-Wno-unused-parameter",
    "-fvisibility=hidden",
    "-D_GLIBCXX_USE_CXX11_ABI=1",
]

# The checks of sanitizers leave little to optimize, and compile slowly.
_COPTS = _ALL_COPTS + select({
    "//build_defs:asan": ["-O1"],
    "//conditions:default": ["-O3"],
})

# The tests' own code: most of the compiler's time under sanitizers would go into GoogleTest's
# templates. The code that they test keeps all checks.
_TEST_COPTS = _ALL_COPTS + [
    "-O1",
    "-Wno-dangling-else",  # GoogleTest's macros under an if without braces
] + select({
    "//build_defs:asan": ["-fno-sanitize=undefined"],
    "//conditions:default": [],
})

# Files that are compiled as one: more would leave cores without work.
_JOINED_FILES = 12

def _join(name, srcs, apart):
    """Joins the sources of a folder: the headers of TensorFlow, absl and GoogleTest take most of the
    compiler's time, and are read once then. A clean build of the library takes 98 s of CPU time
    instead of 317 s. The anonymous namespaces of the files become one, so names in them must differ.

    Args:
      name: The rule's name.
      srcs: Its sources and headers.
      apart: Sources that are compiled by themselves.

    Returns:
      The sources to compile, and those that they include.
    """
    together = [src for src in srcs if src.endswith(".cc") and src not in apart]
    parts = (len(together) + _JOINED_FILES - 1) // _JOINED_FILES
    compiled = [src for src in srcs if src not in together]
    for part in range(parts):
        joined = "{}_joined_{}".format(name, part)
        native.genrule(
            name = joined,
            srcs = together[part::parts],
            outs = [joined + ".cc"],
            cmd = "for file in $(SRCS); do echo \"#include \\\"$$file\\\"\"; done > $@",
        )
        compiled.append(joined + ".cc")
    return compiled, together

def nvc_cc_library(name, srcs = [], apart = [], deps = [], copts = [], **kwargs):
    """A library of core/ or nv/. Of TensorFlow it has only absl."""
    compiled, included = _join(name, srcs, apart)
    native.cc_library(
        name = name,
        srcs = compiled,
        textual_hdrs = included,
        copts = _COPTS + copts,
        linkstatic = True,  # symbols are hidden, so nothing can be linked dynamically
        deps = deps + ["@tensorflow//:absl"],
        **kwargs
    )

def nvc_cuda_text(name, headers = []):
    """A source file with a function that returns the text of `name`.h for NVRTC.

    kernel_sources.h declares the function.

    Args:
      name: The name of the kernel's header without its extension.
      headers: The headers of the same package that it includes.
    """
    package = native.package_name() + "/"
    function = "".join([word.capitalize() for word in name.split("_")]) + "Source"

    # The included headers are raw strings, by the names in their #include lines.
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
    """The registrations of ops, or their kernels.

    They are linked as a whole, because only static initialisers refer to them.
    """
    compiled, included = _join(name, srcs, [])
    native.cc_library(
        name = name,
        srcs = compiled,
        textual_hdrs = included,
        alwayslink = True,
        copts = _COPTS,
        linkstatic = True,
        deps = deps + ["@tensorflow//:tensorflow"],
        **kwargs
    )

def nvc_c_api(name, deps = [], **kwargs):
    """Functions of the C API. They are linked as a whole, because only Python calls them."""
    nvc_cc_library(name = name, alwayslink = True, deps = deps, **kwargs)

def nvc_op_library(name, deps, **kwargs):
    """The shared library that tf.load_op_library opens. It exports only the C API."""
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

def nvc_cc_test(name, deps = [], srcs = None, apart = [], size = "small", **kwargs):
    """A GoogleTest of a unit that needs only absl of TensorFlow."""
    compiled, included = _join(name, srcs or [name + ".cc"], apart)
    native.cc_library(
        name = name + "_sources",
        testonly = True,
        textual_hdrs = included,
    )
    native.cc_test(
        name = name,
        size = size,
        srcs = compiled,
        copts = _TEST_COPTS,
        linkstatic = True,
        deps = deps + [name + "_sources", "@googletest//:gtest_main", "@tensorflow//:absl"],
        **kwargs
    )

def nvc_cc_test_library(name, srcs = [], deps = [], **kwargs):
    """A library that several tests share."""
    compiled, included = _join(name, srcs, [])
    native.cc_library(
        name = name,
        testonly = True,
        srcs = compiled,
        textual_hdrs = included,
        copts = _TEST_COPTS,
        linkstatic = True,
        deps = deps + ["@googletest//:gtest_main", "@tensorflow//:absl"],
        **kwargs
    )

def nvc_cc_fuzzer(name, srcs, deps, **kwargs):
    """A program of tests/fuzz. Only --config=fuzz has what it links, so `//tests/...` leaves it out."""
    native.cc_binary(
        name = name,
        testonly = True,
        srcs = srcs,
        copts = _TEST_COPTS,
        linkstatic = True,
        tags = ["manual"],
        deps = deps + ["@tensorflow//:absl"],
        **kwargs
    )
