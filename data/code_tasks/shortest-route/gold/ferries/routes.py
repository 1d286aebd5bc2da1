import heapq


def fastest(lines, start, goal):
    """The minutes and stops of the fastest route, None if there is none."""
    neighbors = {}
    for one, other, minutes in lines:
        neighbors.setdefault(one, []).append((other, minutes))
        neighbors.setdefault(other, []).append((one, minutes))
    # Ordered by minutes, then number of stops, then names.
    queue = [(0, 1, [start])]
    done = set()
    while queue:
        minutes, count, stops = heapq.heappop(queue)
        if stops[-1] == goal:
            return minutes, stops
        if stops[-1] in done:
            continue
        done.add(stops[-1])
        for place, more in neighbors.get(stops[-1], []):
            if place not in done:
                heapq.heappush(queue, (minutes + more, count + 1, [*stops, place]))
    return None
