from shop.errors import LedgerError


class Ledger:
    def __init__(self):
        self.stock = {}
        self.reserved = {}
        self.reservations = {}

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
        number = len(self.reservations) + 1
        self.reservations[number] = (article, quantity)
        self.reserved[article] = self.reserved.get(article, 0) + quantity
        return number

    def ship(self, number):
        article, quantity = self.reservations[number]
        self.reserved[article] -= quantity
        self.stock[article] -= quantity

    def cancel(self, number):
        article, quantity = self.reservations[number]
        self.reserved[article] -= quantity
