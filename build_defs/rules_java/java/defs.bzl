"""The names of rules_java that Bazel 4.2's @bazel_tools//tools/jdk loads, over the native rules."""

def java_import(**kwargs):
    native.java_import(**kwargs)

def java_runtime(**kwargs):
    native.java_runtime(**kwargs)

def java_toolchain(**kwargs):
    native.java_toolchain(**kwargs)
