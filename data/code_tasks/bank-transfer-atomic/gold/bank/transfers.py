from bank.accounts import BankError


class Bank:
    def __init__(self):
        self.history = []

    def transfer(self, sender, receiver, amount):
        if amount <= 0:
            raise BankError("a transfer moves a positive amount")
        if sender is receiver:
            raise BankError("a transfer needs two accounts")
        sender.withdraw(amount)
        try:
            receiver.deposit(amount)
        except BankError:
            sender.deposit(amount)
            raise
        self.history.append((sender.owner, receiver.owner, amount))
