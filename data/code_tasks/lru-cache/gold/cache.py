"""A bounded cache whose values expire."""

from collections import OrderedDict


class Cache:
    """Keeps at most `size` values; `clock()` gives the time in seconds."""

    def __init__(self, size, clock):
        if size < 1:
            raise ValueError("a cache holds at least one value")
        self._size = size
        self._clock = clock
        self._values = OrderedDict()  # key: (value, good until), longest unused first

    def put(self, key, value, seconds):
        self._values.pop(key, None)
        if len(self._values) >= self._size:
            self._drop_expired()
        if len(self._values) >= self._size:
            self._values.popitem(last=False)
        self._values[key] = (value, self._clock() + seconds)

    def get(self, key, default=None):
        if key not in self._values:
            return default
        value, until = self._values[key]
        if self._clock() >= until:
            del self._values[key]
            return default
        self._values.move_to_end(key)
        return value

    def __len__(self):
        now = self._clock()
        return sum(1 for _, until in self._values.values() if now < until)

    def _drop_expired(self):
        now = self._clock()
        for key in [key for key, (_, until) in self._values.items() if now >= until]:
            del self._values[key]
