"""The order of build steps."""


class UnknownStep(Exception):
    """A step that is needed but not defined."""


class Cycle(Exception):
    """Steps that need each other."""

    def __init__(self, path):
        super().__init__(" -> ".join(path))
        self.path = path


def order(steps):
    """The names of `steps` (name to needed names) so that each comes after what it needs."""
    raise NotImplementedError
