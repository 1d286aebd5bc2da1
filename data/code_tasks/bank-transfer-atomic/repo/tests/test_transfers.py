from bank import Account, Bank


def test_money_moves():
    ann, bob = Account("Ann", 100), Account("Bob")
    Bank().transfer(ann, bob, 30)
    assert (ann.balance, bob.balance) == (70, 30)
