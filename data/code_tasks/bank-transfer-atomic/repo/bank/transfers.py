class Bank:
    def __init__(self):
        self.history = []

    def transfer(self, sender, receiver, amount):
        self.history.append((sender.owner, receiver.owner, amount))
        sender.withdraw(amount)
        receiver.deposit(amount)
