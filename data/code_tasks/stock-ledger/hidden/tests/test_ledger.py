import pytest

from shop.errors import LedgerError
from shop.ledger import Ledger


@pytest.fixture
def ledger():
    ledger = Ledger()
    ledger.receive("lamp", 10)
    return ledger


def test_receive_and_reserve(ledger):
    ledger.reserve("lamp", 4)
    assert ledger.available("lamp") == 6


def test_reserving_too_much(ledger):
    with pytest.raises(LedgerError):
        ledger.reserve("lamp", 11)


def test_shipping(ledger):
    ledger.ship(ledger.reserve("lamp", 4))
    assert ledger.stock["lamp"] == 6
    assert ledger.available("lamp") == 6


def test_a_reservation_is_cancelled_once(ledger):
    number = ledger.reserve("lamp", 4)
    ledger.cancel(number)
    with pytest.raises(LedgerError):
        ledger.cancel(number)
    assert ledger.available("lamp") == 10


def test_unknown_reservation(ledger):
    with pytest.raises(LedgerError):
        ledger.cancel(77)


def test_shipped_reservation_cannot_be_cancelled(ledger):
    first = ledger.reserve("lamp", 4)
    ledger.ship(first)
    second = ledger.reserve("lamp", 1)
    with pytest.raises(LedgerError):
        ledger.cancel(first)
    ledger.cancel(second)
    assert ledger.available("lamp") == 6
