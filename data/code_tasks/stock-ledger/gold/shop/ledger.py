from shop.errors import LedgerError


class Ledger:
    def __init__(self):
        self.stock = {}
        self.reserved = {}
        self.reservations = {}
        self._last = 0

    def receive(self, article, quantity):
        if quantity <= 0:
            raise LedgerError("receive at least one piece")
        self.stock[article] = self.stock.get(article, 0) + quantity

    def available(self, article):
        return self.stock.get(article, 0) - self.reserved.get(article, 0)

    def reserve(self, article, quantity):
        """The number of the new reservation."""
        if not 0 < quantity <= self.available(article):
            raise LedgerError(f"only {self.available(article)} of {article} available")
        self._last += 1
        self.reservations[self._last] = (article, quantity)
        self.reserved[article] = self.reserved.get(article, 0) + quantity
        return self._last

    def ship(self, number):
        article, quantity = self._close(number)
        self.stock[article] -= quantity

    def cancel(self, number):
        self._close(number)

    def _close(self, number):
        """Ends an open reservation and says what it was for."""
        if number not in self.reservations:
            raise LedgerError(f"there is no open reservation {number}")
        article, quantity = self.reservations.pop(number)
        self.reserved[article] -= quantity
        return article, quantity
