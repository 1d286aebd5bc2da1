from collections import deque


class Limiter:
    """Allows each client `limit` requests in any window of `seconds`."""

    def __init__(self, limit, seconds, clock):
        self.limit = limit
        self.seconds = seconds
        self.clock = clock
        self._times = {}  # client: times of allowed requests; the client heard last stands last

    @property
    def clients(self):
        """How many clients are remembered."""
        self._forget()
        return len(self._times)

    def allow(self, client):
        self._forget()
        times = self._recent(client)
        if len(times) >= self.limit:
            return False
        times.append(self.clock())
        self._times.pop(client, None)
        self._times[client] = times
        return True

    def wait(self, client):
        """In how many seconds the next request of `client` would be allowed."""
        times = self._recent(client)
        if len(times) < self.limit:
            return 0
        return times[0] + self.seconds - self.clock()

    def _recent(self, client):
        times = self._times.get(client) or deque()
        while times and times[0] <= self.clock() - self.seconds:
            times.popleft()
        return times

    def _forget(self):
        while self._times:
            client, times = next(iter(self._times.items()))
            if times and times[-1] > self.clock() - self.seconds:
                return
            del self._times[client]
