"""Stand-ins for what Bazel 4.2 would download before it compiles or tests any C++."""

def offline_rules():
    """Bazel 5 to 7 bring other versions of these rules and fetch them; Debian's 4.2 need not."""

    # Debian's build has no version string.
    if native.bazel_version and not native.bazel_version.startswith("4."):
        return
    for name in ["remote_coverage_tools", "rules_cc", "rules_java"]:
        native.local_repository(
            name = name,
            path = "build_defs/" + name,
        )
