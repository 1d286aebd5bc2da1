class LedgerError(Exception):
    """The caller asked for something that the stock does not allow."""
