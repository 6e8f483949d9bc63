"""Runs a claim: every peer does the same work; medians and ratios go into a JSON file.

In each round every peer runs once. The order rotates from round to round, so that a slow time of
the machine affects all peers alike. An untimed call before the rounds warms caches, and its frames
are checked. Where an operation yields arrays, that call ends after some frames, and every round is
checked. "x of the fastest" means this package's rate divided by that of the fastest peer whose
frames are right, without yardsticks (`Peer.baseline`).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from pathlib import Path
from typing import Any, Callable

from benchmarks import peers
from benchmarks.harness import check, clips, machine
from benchmarks.harness.case import Case, Row
from benchmarks.harness.process import Worker, offers

ROUNDS = 3
# The frames after which the untimed call of an operation that yields arrays ends.
_WARM_FRAMES = 64


class Benchmark:
    """A run of a script: its options, workers, cases, targets and result file."""

    def __init__(self, name: str, title: str, rounds: int = ROUNDS) -> None:
        self.name, self.title = name, title
        parser = argparse.ArgumentParser(prog=f"python -m benchmarks.cpu.{name}", description=title)
        parser.add_argument("--peers", help="names, comma separated (default: all)")
        parser.add_argument("--cases", help="only cases whose name contains this")
        parser.add_argument("--rounds", type=int, default=rounds)
        parser.add_argument(
            "--results", type=Path, default=clips.RESULTS, help="folder for the JSON"
        )
        self.options = parser.parse_args()
        known = peers.every()
        wanted = self.options.peers.split(",") if self.options.peers else list(known)
        unknown = sorted(set(wanted) - set(known))
        if unknown:
            parser.error(f"no peer named {', '.join(unknown)}; there are {', '.join(known)}")
        self.names = [name for name in known if name in wanted]
        self.machine = machine.describe()
        self.cases: list[Case] = []
        self.targets: list[dict[str, Any]] = []
        self.clips: dict[str, Any] = {}
        self._workers: dict[str, Worker] = {}

    def wants(self, case: str) -> bool:
        """Whether the options ask for a case of this name."""
        return not self.options.cases or self.options.cases in case

    def clip(self, name: str) -> Path:
        made = clips.path(name)
        self.clips[name] = clips.describe(name)
        return made

    def worker(self, name: str) -> Worker:
        if name not in self._workers:
            self._workers[name] = Worker(name)
        return self._workers[name]

    def restart(self, name: str) -> Worker:
        """Starts a fresh process, whose peak of memory no earlier work has raised."""
        if name in self._workers:
            self._workers.pop(name).close()
        return self.worker(name)

    def _first(self, case: Case, name: str, finish: Callable[[Row], None] | None) -> Row:
        """Makes the untimed call: warms caches, checks the frames, notes why a peer is left out."""
        row = Row(peer=name, baseline=peers.every()[name].baseline)
        if not offers(name, case.operation):
            row.note = "not offered"
            return row
        worker = self.worker(name)
        if worker.absent:
            row.note = f"absent ({worker.absent.splitlines()[0]})"
            return row
        save = clips.CACHE / f"out-{name.replace(' ', '-')}.mp4" if finish else None
        answer = worker.call(
            case.operation,
            case.arguments,
            check_frames=case.indices is not None,
            save=save,
            most=_WARM_FRAMES if case.stream else 0,
        )
        if "not_offered" in answer:
            row.note = f"not offered ({answer['not_offered']})"
        elif "error" in answer:
            row.note = f"fails ({answer['error'].splitlines()[0]})"
        else:
            self._check(case, row, answer, whole=not case.stream)
        if finish and not row.note and save:
            row.extra["bytes"] = answer["bytes"]
            finish(row)
        return row

    @staticmethod
    def _check(case: Case, row: Row, answer: dict[str, Any], whole: bool) -> None:
        """Notes in the row what is wrong with the frames of an answer, or with their number."""
        frames, clip = answer.get("frames", -1), Path(case.arguments["path"])
        verdict = None
        if frames == 0 and case.frames:
            row.note = "fails (it gives no frames)"
        elif whole and case.frames and frames not in (-1, case.frames):
            row.note = f"WRONG COUNT ({frames} frames, not {case.frames})"
        elif case.indices is not None and "points" in answer:
            verdict = check.judge_points(clip, case.indices[:frames], answer["points"])
        elif case.indices is not None and "thumbnails" in answer:
            verdict = check.judge(clip, case.indices, answer["thumbnails"])
        if verdict:
            row.color_distance = round(verdict.distance, 2)
            row.note = row.note if verdict.ok else f"WRONG FRAMES ({verdict.reason})"

    def run(self, case: Case, finish: Callable[[Row], None] | None = None) -> Case | None:
        """Measures a case; `finish` reads the encoded file of each row's untimed call."""
        if not self.wants(case.name):
            return None
        print(f"\n{self.title}: {case.name}", flush=True)
        case.rows = [self._first(case, name, finish) for name in self.names]
        able = [row for row in case.rows if not row.note or row.note.startswith("WRONG")]
        for turn in range(self.options.rounds):
            # The first of a case may pay for memory that the machine has not used for a while.
            first = (turn + len(self.cases)) % len(able) if able else 0
            for row in able[first:] + able[:first]:
                answer = self.worker(row.peer).call(
                    case.operation, case.arguments, case.repeat, check_frames=case.stream
                )
                if "seconds" in answer:
                    if case.stream:
                        self._check(case, row, answer, whole=True)
                    row.seconds.append(answer["seconds"])
                    row.cpu_seconds.append(answer["cpu_seconds"])
                else:
                    row.note = row.note or f"fails ({answer.get('error', '')})"
        for row in case.rows:
            if row.seconds:
                row.value = case.value(row.median)
        self.show(case)
        return case

    def show(self, case: Case) -> None:
        """Prints a measured case and adds it to the results."""
        self.cases.append(case)
        self._print(case)

    def _print(self, case: Case) -> None:
        fastest = case.fastest()
        titles = f"{'min..max':>18}{'cpu ms':>9}{'ours is':>9}{'colour':>8}  notes"
        print(f"  {'':24}{case.unit:>10}{titles}")
        for row in case.rows:
            if row.value is None:
                print(f"  {row.peer:24}{'-':>10}{'':>44}  {row.note}")
                continue
            values = sorted(case.value(each) for each in row.seconds)
            spread = f"{values[0]:.1f}..{values[-1]:.1f}"
            cpu = statistics.median(row.cpu_seconds) * 1e3
            ratio = None if peers.is_ours(row.peer) else case.ratio_to(row)
            shown = f"{ratio:.2f}x" if ratio else ""
            distance = "" if row.color_distance is None else f"{row.color_distance:.1f}"
            notes = [row.note, "yardstick" if row.baseline else ""]
            notes.append("fastest peer" if row is fastest else "")
            notes += [f"{key} {value}" for key, value in row.extra.items()]
            print(
                f"  {row.peer:24}{row.value:10.1f}{spread:>18}{cpu:9.1f}{shown:>9}{distance:>8}  "
                + ", ".join(note for note in notes if note),
                flush=True,
            )

    def target(
        self, case: Case | None, text: str, required: float, against: str = "", form: str = ""
    ) -> None:
        """Records a target: at least `required` times the fastest peer, or the peer `against`.

        `form` names the form of this package that must reach it, where there are several.
        """
        if case is None:
            return
        other = case.row(against) if against else case.fastest()
        ratio = case.ratio_to(other, form)
        self.targets.append(
            {
                "case": case.name,
                "target": text,
                "against": other.peer if other else None,
                "required": required,
                "ratio": None if ratio is None else round(ratio, 3),
                "met": None if ratio is None else ratio >= required,
            }
        )

    def record(self, text: str, **fields: Any) -> None:
        """Records a target that is no ratio of rates; `fields` contains "met"."""
        self.targets.append({"target": text, **fields})

    def finish(self) -> None:
        """Prints the targets, writes the results file and ends the workers."""
        if self.targets:
            print("\nTargets")
        for each in self.targets:
            verdict = {True: "met", False: "NOT MET", None: "not measured"}[each["met"]]
            ratio = f"{each['ratio']:.2f}x of {each['against']}" if each.get("ratio") else ""
            print(f"  {verdict:13}{each.get('case', ''):42}{each['target']}  {ratio}")
        versions = {name: w.version for name, w in self._workers.items() if not w.absent}
        absent = {name: w.absent for name, w in self._workers.items() if w.absent}
        document = {
            "name": self.name,
            "title": self.title,
            "rounds": self.options.rounds,
            "machine": {**self.machine, "load_after": round(os.getloadavg()[0], 2)},
            "peers": versions,
            "absent": absent,
            "clips": self.clips,
            "cases": [self._case_document(case) for case in self.cases],
            "targets": self.targets,
        }
        self.options.results.mkdir(parents=True, exist_ok=True)
        target = self.options.results / f"{self.name}.json"
        target.write_text(json.dumps(document, indent=1) + "\n")
        print(f"\nwrote {target}")
        for worker in self._workers.values():
            worker.close()

    @staticmethod
    def _case_document(case: Case) -> dict[str, Any]:
        arguments = {key: value for key, value in case.arguments.items() if key != "path"}
        if "clips" in arguments:
            arguments["clips"] = len(arguments["clips"])
        rows = []
        for row in case.rows:
            rival = row.seconds and not peers.is_ours(row.peer)
            ratio = case.ratio_to(row) if rival else None
            rows.append(
                {
                    "peer": row.peer,
                    "baseline": row.baseline,
                    "note": row.note,
                    "value": None if row.value is None else round(row.value, 3),
                    "seconds": [round(each, 6) for each in row.seconds],
                    "cpu_seconds": [round(each, 6) for each in row.cpu_seconds],
                    "ours_is_times_as_fast": None if ratio is None else round(ratio, 3),
                    "color_distance": row.color_distance,
                    **row.extra,
                }
            )
        return {
            "case": case.name,
            "operation": case.operation,
            "arguments": arguments,
            "unit": case.unit,
            "repeat": case.repeat,
            "rows": rows,
        }
