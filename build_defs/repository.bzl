"""Functions shared by the rules that find libraries of this machine."""

def fail_missing(what, why, cure):
    """Stops the build and says what is missing, how that was found, and how to install it."""
    fail("\n\n  {} is missing: {}\n  To mend it: {}\n".format(what, why.strip(), cure))

def run_pkg_config(rctx, arguments, what, cure, environment = {}):
    """Returns pkg-config's output, or fails and names the package."""
    tool = rctx.which("pkg-config")
    if tool == None:
        fail_missing("pkg-config", "it is not on PATH", "apt-get install -y pkg-config")
    result = rctx.execute([tool] + arguments, environment = environment)
    if result.return_code != 0:
        fail_missing(what, result.stderr or "pkg-config does not know it", cure)
    return result.stdout.strip()

def symlink_headers(rctx, package, folder, what, cure, environment = {}):
    """Links pkg-config's include folder of `package` as include/<folder>."""
    root = run_pkg_config(rctx, ["--variable=includedir", package], what, cure, environment)
    path = rctx.path(root + "/" + folder)
    if not path.exists:
        fail_missing(what, "there is no {}".format(path), cure)
    rctx.symlink(path, "include/" + folder)
