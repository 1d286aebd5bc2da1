def stock_list(ledger):
    """The lines of the stock list: `name: in the house (available)`."""
    return [
        f"{article}: {count} ({ledger.available(article)})"
        for article, count in sorted(ledger.stock.items())
        if count > 0
    ]
