"""The order of build steps."""

import heapq


class UnknownStep(Exception):
    """A step that is needed but not defined."""


class Cycle(Exception):
    """Steps that need each other."""

    def __init__(self, path):
        super().__init__(" -> ".join(path))
        self.path = path


def order(steps):
    """The names of `steps` (name to needed names) so that each comes after what it needs."""
    for name, needs in steps.items():
        for need in needs:
            if need not in steps:
                raise UnknownStep(f"{name} needs {need}, which is not defined")
    open_needs = {name: set(needs) for name, needs in steps.items()}
    ready = [name for name, needs in open_needs.items() if not needs]
    heapq.heapify(ready)
    planned = []
    while ready:
        name = heapq.heappop(ready)
        planned.append(name)
        del open_needs[name]
        for other, needs in open_needs.items():
            if name in needs:
                needs.remove(name)
                if not needs:
                    heapq.heappush(ready, other)
    if open_needs:
        raise Cycle(_cycle(open_needs))
    return planned


def _cycle(open_needs):
    """A cycle among steps that all need another of them."""
    seen, name = [], min(open_needs)
    while name not in seen:
        seen.append(name)
        name = min(open_needs[name])
    path = seen[seen.index(name) :]
    first = path.index(min(path))
    path = path[first:] + path[:first]
    return [*path, path[0]]
