from bank.accounts import Account, BankError
from bank.transfers import Bank

__all__ = ["Account", "Bank", "BankError"]
