import pytest

from bank import Account, Bank, BankError


@pytest.fixture
def bank():
    return Bank()


def test_money_moves(bank):
    ann, bob = Account("Ann", 100), Account("Bob")
    bank.transfer(ann, bob, 30)
    assert (ann.balance, bob.balance) == (70, 30)
    assert bank.history == [("Ann", "Bob", 30)]


def test_frozen_receiver(bank):
    ann, bob = Account("Ann", 100), Account("Bob", frozen=True)
    with pytest.raises(BankError, match="Bob"):
        bank.transfer(ann, bob, 30)
    assert (ann.balance, bob.balance) == (100, 0)
    assert bank.history == []


def test_frozen_sender(bank):
    ann, bob = Account("Ann", 100, frozen=True), Account("Bob")
    with pytest.raises(BankError, match="Ann"):
        bank.transfer(ann, bob, 30)
    assert (ann.balance, bob.balance) == (100, 0)


def test_too_little_money(bank):
    ann, bob = Account("Ann", 10), Account("Bob")
    with pytest.raises(BankError):
        bank.transfer(ann, bob, 30)
    assert (ann.balance, bob.balance, bank.history) == (10, 0, [])


def test_same_account(bank):
    ann = Account("Ann", 100)
    with pytest.raises(BankError):
        bank.transfer(ann, ann, 30)
    assert ann.balance == 100


@pytest.mark.parametrize("amount", [0, -5])
def test_amounts_are_positive(bank, amount):
    ann, bob = Account("Ann", 100), Account("Bob", 100)
    with pytest.raises(BankError):
        bank.transfer(ann, bob, amount)
    assert (ann.balance, bob.balance) == (100, 100)
