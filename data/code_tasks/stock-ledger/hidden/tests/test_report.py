from shop.ledger import Ledger
from shop.report import stock_list


def test_lines_are_sorted():
    ledger = Ledger()
    ledger.receive("vase", 2)
    ledger.receive("bowl", 5)
    ledger.reserve("bowl", 1)
    assert stock_list(ledger) == ["bowl: 5 (4)", "vase: 2 (2)"]


def test_articles_without_stock_are_left_out():
    ledger = Ledger()
    ledger.receive("vase", 2)
    ledger.receive("bowl", 1)
    ledger.ship(ledger.reserve("bowl", 1))
    assert stock_list(ledger) == ["vase: 2 (2)"]
