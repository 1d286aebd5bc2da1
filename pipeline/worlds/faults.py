"""Injected faults: planned with the task, keyed by (tool, n-th call), seen by the agent only as a caller would."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipeline.records import Failure, Fault, InjectedFault, Json
from pipeline.worlds.host import CallResult, ToolHost

_MESSAGES = {
    "error": (Failure.UNAVAILABLE, "The service is temporarily unavailable. Please try again."),
    "timeout_before": (
        Failure.TIMEOUT,
        "No answer within 30 seconds. It is not known whether the request was carried out.",
    ),
    "timeout_after": (
        Failure.TIMEOUT,
        "No answer within 30 seconds. It is not known whether the request was carried out.",
    ),
    "denied": (Failure.PERMISSION_DENIED, "This account is no longer permitted to use the function."),
}
PERMANENT = "The service is out of order and will not be back today."


@dataclass(frozen=True, slots=True)
class Answer:
    """A host's answer after faults: what the agent sees, and what really happened."""

    result: CallResult
    fault: InjectedFault | None = None


class FaultyHost:
    """Calls a host and injects what the plan says. Counts calls itself, so that a resumed episode can `recount`."""

    def __init__(self, host: ToolHost, plan: Sequence[Fault]) -> None:
        self.host = host
        self._plan = plan
        self._count: Counter[str] = Counter()

    def recount(self, names: Iterable[str]) -> None:
        """Counts calls that were made before a pause."""
        self._count.update(names)

    async def call(self, name: str, arguments: dict[str, Json]) -> Answer:
        """One call, with the fault that is due for it, if any."""
        self._count[name] += 1
        nth = self._count[name]
        fault = self._due(name, nth)
        if fault is None:
            return Answer(await self.host.call(name, arguments))
        return await self._inject(fault, nth, name, arguments)

    def _due(self, name: str, nth: int) -> Fault | None:
        return next(
            (f for f in self._plan if f.tool == name and (f.nth == nth or (f.permanent and nth >= f.nth))),
            None,
        )

    async def _inject(self, fault: Fault, nth: int, name: str, arguments: dict[str, Json]) -> Answer:
        ref = self.host.snapshot().ref
        injected = InjectedFault(tool=name, nth=nth, kind=fault.kind)
        if fault.kind == "timeout_after":
            real = await self.host.call(name, arguments)
            injected = injected.replace(committed=real.ok)
            return Answer(_refused(fault, real.before, real.after), injected)
        if fault.kind == "rate_limit":
            self.host.advance(fault.wait)
            message = f"Too many requests. Retry after {fault.wait:g} seconds."
            later = self.host.snapshot().ref
            return Answer(CallResult(False, None, (str(Failure.RATE_LIMITED), message), ref, later), injected)
        if fault.kind == "partial":
            real = await self.host.call(name, arguments)
            return Answer(_cut(real), injected)
        return Answer(_refused(fault, ref, ref), injected)


def _refused(fault: Fault, before: str, after: str) -> CallResult:
    code, message = _MESSAGES[fault.kind]
    return CallResult(False, None, (str(code), PERMANENT if fault.permanent else message), before, after)


def _cut(real: CallResult) -> CallResult:
    """A list cut in half, with a marker, as a server under load would answer."""
    if not real.ok or not isinstance(real.value, list) or len(real.value) < 2:
        return real
    kept = real.value[: len(real.value) // 2]
    value = {
        "items": kept,
        "incomplete": True,
        "message": f"{len(real.value) - len(kept)} more items were not delivered.",
    }
    return CallResult(True, value, None, real.before, real.after)
