"""The names of rules_cc that Bazel 4.2's own toolchain files load, over the native rules."""

def cc_library(**kwargs):
    native.cc_library(**kwargs)

def cc_import(**kwargs):
    native.cc_import(**kwargs)

def cc_toolchain(**kwargs):
    native.cc_toolchain(**kwargs)

def cc_toolchain_suite(**kwargs):
    native.cc_toolchain_suite(**kwargs)

def cc_binary(**kwargs):
    native.cc_binary(**kwargs)
