class Limiter:
    """Allows each client `limit` requests per `seconds`."""

    def __init__(self, limit, seconds, clock):
        self.limit = limit
        self.seconds = seconds
        self.clock = clock
        self.counts = {}

    def allow(self, client):
        window = int(self.clock() // self.seconds)
        count = self.counts.get((client, window), 0)
        self.counts[client, window] = count + 1
        return count < self.limit
