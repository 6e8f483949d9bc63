"""`doctor`: what is installed for TF-TRT, what is missing, and how to get it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from converters.environment.libraries import MadeLink, find_tensorrt, link_folders, make_links
from converters.environment.rules import fits
from converters.environment.tftrt_ready import Environment, describe


@dataclass(frozen=True)
class Finding:
    """One line of the report. `status` is "ok", "warning" or "missing"."""

    name: str
    status: str
    detail: str
    cure: str = ""


@dataclass(frozen=True)
class DoctorReport:
    """What doctor found; `links` are those that --fix made. The text has commands to undo them."""

    findings: tuple[Finding, ...]
    environment: Environment
    links: tuple[MadeLink, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether models can be converted here."""
        return all(finding.status != "missing" for finding in self.findings)

    def to_text(self) -> str:
        """A line for each finding, with the cure below it."""
        width = max(len(finding.name) for finding in self.findings)
        lines = [f"linked   {link.path} -> {link.path.resolve()}" for link in self.links]
        lines += [f"undo by  {command}" for command in self.undo()]
        for finding in self.findings:
            lines.append(f"{finding.status:8} {finding.name:{width}}  {finding.detail}")
            if finding.cure:
                lines.append(f"{'':8} {'':{width}}  -> {finding.cure}")
        return "\n".join(lines)

    def undo(self) -> list[str]:
        """Shell commands that take back what --fix did."""
        new = [shlex.quote(str(link.path)) for link in self.links if link.before is None]
        commands = [f"rm {' '.join(new)}"] if new else []
        for link in self.links:
            if link.before is not None:
                commands.append(f"ln -sfn {shlex.quote(link.before)} {shlex.quote(str(link.path))}")
        return commands

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        return {
            "ok": self.ok,
            "findings": [vars(finding) for finding in self.findings],
            "links": [str(link.path) for link in self.links],
            "undo": self.undo(),
            "environment": self.environment.to_json(),
        }


def doctor(fix: bool = False, look: Callable[[], Environment] = describe) -> DoctorReport:
    """Looks at this machine; with `fix`, makes the links that TensorFlow needs first.

    Links are made only where TensorFlow has TF-TRT inside and cannot open TensorRT, and a
    TensorRT that fits is installed.

    Raises:
      UnavailableError: the links cannot be made.
    """
    environment = look()
    links: list[MadeLink] = []
    if fix:
        links = _fix(environment)
        if links:
            environment = look()
    return DoctorReport(tuple(findings_of(environment)), environment, tuple(links))


def _fix(environment: Environment) -> list[MadeLink]:
    linked = environment.tensorrt_linked
    if linked is None or environment.tensorflow_folder is None:
        return []
    if environment.tensorrt_loaded is not None:
        return []
    numbers = [int(part) for part in linked.split(".")]
    fitting = [found for found in find_tensorrt() if fits(found, numbers)]
    if not fitting:
        return []
    # The linked version itself, where it is there.
    best = min(fitting, key=lambda found: found.version != linked)
    return make_links(best, linked, link_folders(Path(environment.tensorflow_folder)))


def findings_of(environment: Environment) -> list[Finding]:
    """All findings, those that others depend on first."""
    cures = {problem.about: problem for problem in reversed(environment.problems)}
    findings = [Finding("Python", "ok", f"{environment.python}, {sys.executable}")]

    def add(about: str, good: str, other: str) -> None:
        """`other` is shown if something else is missing that must come first."""
        if about in cures:
            findings.append(Finding(about, "missing", cures[about].cause, cures[about].cure))
        elif good:
            findings.append(Finding(about, "ok", good))
        else:
            findings.append(Finding(about, "missing", other))

    version, linked = environment.tensorflow, environment.tensorrt_linked
    add("TensorFlow", f"{version}, {environment.tensorflow_folder}" if version else "", "none")
    add(
        "TF-TRT",
        f"compiled in, linked with TensorRT {linked}" if linked else "",
        "not asked: it needs TensorFlow",
    )
    add("TensorRT", _tensorrt(environment), "not asked: it needs a TensorFlow with TF-TRT")
    add("GPU", _gpus(environment), "none")
    if environment.tensorrt_python is not None:
        detail = f"{environment.tensorrt_python} (extract-plan runs plans with it)"
        findings.append(Finding("Python package tensorrt", "ok", detail))
    findings += [Finding("note", "warning", text) for text in environment.warnings]
    return findings


def _tensorrt(environment: Environment) -> str:
    if environment.tensorrt_loaded is None:
        return ""
    files = [path for path in (environment.library_path, environment.plugin_path) if path]
    return f"{environment.tensorrt_loaded} loaded: {', '.join(files)}"


def _gpus(environment: Environment) -> str:
    gpus = ", ".join(
        f"{gpu.name} (compute capability {gpu.compute_capability}, {gpu.memory / 2**30:.0f} GiB)"
        for gpu in environment.gpus
    )
    driver = f"; driver {environment.driver or 'unknown'}, for CUDA {environment.cuda}"
    return gpus + driver if gpus else ""
