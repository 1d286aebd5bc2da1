"""Injected faults: planned with the task, keyed by (tool, n-th call), seen by the agent only as a caller would."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

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
        # A stale answer is one from the beginning; a host is handed over before its first call.
        self._first = host.snapshot() if any(fault.kind == "stale" for fault in plan) else None

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
        injected = InjectedFault(tool=name, nth=nth, kind=fault.kind, permanent=fault.permanent)
        return await self._inject(fault, injected, arguments)

    def _due(self, name: str, nth: int) -> Fault | None:
        return next(
            (f for f in self._plan if f.tool == name and (f.nth == nth or (f.permanent and nth >= f.nth))),
            None,
        )

    async def _inject(self, fault: Fault, injected: InjectedFault, arguments: dict[str, Json]) -> Answer:
        name = fault.tool
        if fault.kind == "timeout_after":
            real = await self.host.call(name, arguments)
            return Answer(_refused(fault, real.before, real.after), injected.replace(committed=real.ok))
        if fault.kind == "partial":
            return Answer(_cut(await self.host.call(name, arguments), fault.explicit), injected)
        if fault.kind == "stale":
            return Answer(await self._stale(fault, arguments), injected)
        if fault.kind == "changed":
            return Answer(await self._meddled(fault, arguments), injected)
        ref = self.host.snapshot().ref
        if fault.kind == "rate_limit":
            self.host.advance(fault.wait)
            message = f"Too many requests. Retry after {fault.wait:g} seconds."
            later = self.host.snapshot().ref
            return Answer(CallResult(False, None, (str(Failure.RATE_LIMITED), message), ref, later), injected)
        return Answer(_refused(fault, ref, ref), injected)

    async def _stale(self, fault: Fault, arguments: dict[str, Json]) -> CallResult:
        """The answer that the tool would have given at the beginning, the present state untouched."""
        now = self.host.snapshot()
        assert self._first is not None
        await self.host.restore(self._first)
        old = await self.host.call(fault.tool, arguments)
        await self.host.restore(now)
        value = _dated(old.value, self._first.clock) if old.ok and fault.explicit else old.value
        return replace(old, value=value, before=now.ref, after=now.ref)

    async def _meddled(self, fault: Fault, arguments: dict[str, Json]) -> CallResult:
        """The call after somebody else's; what both changed is between its two states."""
        before = self.host.snapshot().ref
        for one in fault.by:
            await self.host.call(one.tool, one.arguments)
        return replace(await self.host.call(fault.tool, arguments), before=before)


def _refused(fault: Fault, before: str, after: str) -> CallResult:
    code, message = _MESSAGES[fault.kind]
    if fault.permanent and fault.kind != "denied":
        message = PERMANENT
    return CallResult(False, None, (str(code), message), before, after)


def _cut(real: CallResult, explicit: bool) -> CallResult:
    """A list cut in half, as a server under load would answer; with a marker only when `explicit`."""
    if not real.ok or not isinstance(real.value, list) or len(real.value) < 2:
        return real
    kept = real.value[: len(real.value) // 2]
    if not explicit:
        return replace(real, value=kept)
    value = {
        "items": kept,
        "incomplete": True,
        "message": f"{len(real.value) - len(kept)} more items were not delivered.",
    }
    return replace(real, value=value)


def _dated(value: Json, clock: str) -> Json:
    """An answer that says how old it is: in a column of an object, beside the items of a list."""
    if isinstance(value, list):
        return {"items": value, "cached_at": clock}
    return {**value, "cached_at": clock} if isinstance(value, dict) else value
