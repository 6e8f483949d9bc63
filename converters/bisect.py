"""Which ops to keep out of TensorRT so that a converted model agrees with the native one again.

`bisect` is the search alone: it asks a function what passes. `find_denylist` applies it to the
ops of a model's engines, types first and then single nodes, and writes a file that conversion
takes. Every question costs a conversion, so that questions are few and never repeated.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Callable

from converters.util.first_of import first_of

Excluded = frozenset[str]


@dataclasses.dataclass(frozen=True)
class Trial:
    """One question that was asked: does the check pass with these kept out?"""

    number: int
    excluded: Excluded
    passed: bool
    seconds: float

    def __str__(self) -> str:
        shown = first_of(sorted(self.excluded), 6)
        verdict = "passes" if self.passed else "fails"
        return f"run {self.number}: {verdict} without {shown or 'nothing'} ({self.seconds:.1f} s)"


@dataclasses.dataclass(frozen=True)
class Bisection:
    """`excluded` makes the check pass, and no member can be taken out of it (1-minimal).

    None: keeping all candidates out does not help, so the cause is elsewhere. `complete` is
    False when the limit on runs was reached: `excluded` passes then, but may be larger than
    needed (None: nothing that passes was found in time).
    """

    excluded: Excluded | None
    complete: bool
    trials: tuple[Trial, ...]

    @property
    def runs(self) -> int:
        return len(self.trials)


class _LimitReachedError(Exception):
    pass


def bisect(
    fails: Callable[[Excluded], bool],
    candidates: Sequence[str],
    *,
    max_runs: int | None = None,
    progress: Callable[[Trial], object] | None = None,
    all_pass: bool = False,
) -> Bisection:
    """A smallest set of candidates (in the sense of Bisection) without which the check passes.

    `fails(excluded)` says whether the check still fails with `excluded` kept out; with nothing
    kept out it is known to fail, and is not asked; nor are all of them when `all_pass` says that
    this passes. Halves are kept out first, in the order of
    `candidates`: k culprits among n take about 2 k log2(n / k) runs when keeping out more never
    makes the check fail (QuickXplain: Junker, AAAI 2004). Where that does not hold the answer
    still passes and is 1-minimal, after more runs. The same questions are asked in the same order
    each time. Exceptions of `fails` pass through.
    """
    names = list(dict.fromkeys(candidates))
    search = _Search(fails, max_runs, progress)
    everything = frozenset(names)
    if all_pass and names:
        search.take_for_passed(everything)
    try:
        if not names or not search.passes(everything):
            return search.result(None)
        found = frozenset(search.explain(frozenset(), False, names))
        if not search.passes(found):
            # Keeping out more made it worse somewhere: shrink from the set known to pass.
            found = search.shrink(names)
        return search.result(search.prune(found, names))
    except _LimitReachedError:
        return search.result(search.best, complete=False)


class _Search:
    def __init__(
        self,
        fails: Callable[[Excluded], bool],
        max_runs: int | None,
        progress: Callable[[Trial], object] | None,
    ) -> None:
        self._fails = fails
        self._max_runs = max_runs
        self._progress = progress
        self._known: dict[Excluded, bool] = {frozenset(): False}
        self._trials: list[Trial] = []
        self.best: Excluded | None = None

    def passes(self, excluded: Iterable[str]) -> bool:
        excluded = frozenset(excluded)
        if excluded not in self._known:
            if self._max_runs is not None and len(self._trials) >= self._max_runs:
                raise _LimitReachedError
            began = time.monotonic()
            passed = not self._fails(excluded)
            self._known[excluded] = passed
            seconds = time.monotonic() - began
            self._trials.append(Trial(len(self._trials) + 1, excluded, passed, seconds))
            if self._progress is not None:
                self._progress(self._trials[-1])
            if passed and (self.best is None or len(excluded) < len(self.best)):
                self.best = excluded
        return self._known[excluded]

    def take_for_passed(self, excluded: Excluded) -> None:
        self._known[excluded] = True
        self.best = excluded

    def explain(self, kept_out: Excluded, grew: bool, names: list[str]) -> list[str]:
        """The culprits among `names` that are needed besides `kept_out`, which is out already.
        `grew`: whether `kept_out` has not been tried yet."""
        if grew and self.passes(kept_out):
            return []
        if len(names) == 1:
            return names
        half = len(names) // 2
        first, second = names[:half], names[half:]
        of_second = self.explain(kept_out | frozenset(first), True, second)
        of_first = self.explain(kept_out | frozenset(of_second), bool(of_second), first)
        return of_first + of_second

    def shrink(self, names: list[str]) -> Excluded:
        """Takes ever smaller parts out of a set that passes, as long as it passes (Zeller's and
        Hildebrandt's delta debugging, by complements)."""
        size = max(1, len(names) // 2)
        while True:
            start = 0
            while start < len(names) and len(names) > 1:
                rest = names[:start] + names[start + size :]
                if rest and self.passes(rest):
                    names = rest
                else:
                    start += size
            if size == 1:
                return frozenset(names)
            size = max(1, size // 2)

    def prune(self, found: Excluded, order: list[str]) -> Excluded:
        """Takes single members out until none can go."""
        names = [name for name in order if name in found]
        index = 0
        while index < len(names):
            rest = names[:index] + names[index + 1 :]
            if self.passes(rest):
                names, index = rest, 0
            else:
                index += 1
        return frozenset(names)

    def result(self, excluded: Excluded | None, complete: bool = True) -> Bisection:
        return Bisection(excluded, complete, tuple(self._trials))


# Ops that compute nothing: keeping them out changes no number.
_NO_ARITHMETIC = frozenset(
    ("Const", "Identity", "IdentityN", "NoOp", "Placeholder", "_Arg", "_Retval")
)


def by_type(nodes: Mapping[str, str]) -> dict[str, list[str]]:
    """Node names by op type, without ops that compute nothing; types with few nodes first.

    Rare ops (a Softmax at the end) are culprits more often than those that fill the model, and
    cost least to keep out.
    """
    types: dict[str, list[str]] = {}
    for name, op in nodes.items():
        if op not in _NO_ARITHMETIC:
            types.setdefault(op, []).append(name)
    return dict(sorted(types.items(), key=lambda item: (len(item[1]), item[0])))
