from gateway.limiter import Limiter


class Server:
    """Answers requests as (status, headers)."""

    def __init__(self, clock, limit=3, seconds=10.0):
        self.limiter = Limiter(limit, seconds, clock)

    def handle(self, client, path):
        if path == "/health":
            return 200, {}
        if not self.limiter.allow(client):
            return 429, {}
        return (200 if path == "/" else 404), {}
