from collections import deque


def fastest(lines, start, goal):
    """The minutes and stops of the fastest route, None if there is none."""
    neighbors = {}
    for one, other, minutes in lines:
        neighbors.setdefault(one, []).append((other, minutes))
    queue = deque([(0, [start])])
    seen = {start}
    while queue:
        minutes, stops = queue.popleft()
        if stops[-1] == goal:
            return minutes, stops
        for place, more in neighbors.get(stops[-1], []):
            if place not in seen:
                seen.add(place)
                queue.append((minutes + more, [*stops, place]))
    return None
