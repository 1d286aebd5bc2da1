"""Which planned faults a careful caller meets, and at which call: what fails in passing is called again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from pipeline.records import Fault, ReferenceCall


class Caller:
    """Counts calls as a careful agent makes them under a plan: a passing failure is repeated, and a write without an
    answer is looked after with the last lookup before it. `reads`: names of the tools that change nothing."""

    def __init__(self, reads: Collection[str], plan: Sequence[Fault] = ()) -> None:
        self.plan = list(plan)
        self.lost: set[int] = set()
        """Goals whose result did not arrive, although the call took effect."""
        self.answered = True
        """Whether the result of the latest call arrived."""
        self._reads = reads
        self._seen: Counter[str] = Counter()
        self._look = ""

    def add(self, fault: Fault) -> Fault:
        """Plans a fault for the next call of its tool; returns it with the number of that call."""
        numbered = fault.replace(nth=self._seen[fault.tool] + 1)
        self.plan.append(numbered)
        return numbered

    def make(self, call: ReferenceCall) -> Fault | None:
        """Makes a call of the reference, with all that its faults ask for; returns the fault that it ends at, if one
        lasts or somebody else was first."""
        self.answered = True
        while fault := self._meet(call.tool):
            if fault.permanent or fault.kind == "changed":
                return fault
            if fault.kind == "partial" and not fault.explicit:
                break
            if fault.kind.startswith("timeout") and call.tool not in self._reads:
                self._look_after()
                if fault.kind == "timeout_after":
                    self.lost.add(call.goal)
                    self.answered = False
                    break
        if call.tool in self._reads:
            self._look = call.tool
        return None

    def _look_after(self) -> None:
        while self._look and (fault := self._meet(self._look)) and not fault.permanent:
            pass

    def _meet(self, tool: str) -> Fault | None:
        self._seen[tool] += 1
        nth = self._seen[tool]
        return next(
            (f for f in self.plan if f.tool == tool and (f.nth == nth or (f.permanent and nth >= f.nth))),
            None,
        )
