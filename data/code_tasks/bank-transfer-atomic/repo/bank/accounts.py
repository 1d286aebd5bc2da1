class BankError(Exception):
    pass


class Account:
    def __init__(self, owner, balance=0, frozen=False):
        self.owner = owner
        self.balance = balance
        self.frozen = frozen

    def withdraw(self, amount):
        if self.frozen:
            raise BankError(f"the account of {self.owner} is frozen")
        if amount > self.balance:
            raise BankError(f"{self.owner} has only {self.balance}")
        self.balance -= amount

    def deposit(self, amount):
        if self.frozen:
            raise BankError(f"the account of {self.owner} is frozen")
        self.balance += amount
