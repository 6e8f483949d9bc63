"""Replaces the rules that Bazel 4.2 would download before it compiles or tests any C++."""

def offline_rules():
    """Declares local replacements for Bazel 4.2. Bazel 5 to 7 fetch their own versions."""

    # Debian's Bazel 4.2 has no version string.
    if native.bazel_version and not native.bazel_version.startswith("4."):
        return
    for name in ["remote_coverage_tools", "rules_cc", "rules_java"]:
        native.local_repository(
            name = name,
            path = "build_defs/" + name,
        )
