"""Adds up an expense file per category."""

import csv
from decimal import Decimal


def read_totals(path):
    """Category to sum of amounts, from a file with the columns date, category, amount."""
    totals = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file, delimiter=";"):
            if not (row["category"] or "").strip():
                continue
            category = row["category"].strip().lower()
            totals[category] = totals.get(category, Decimal(0)) + read_amount(row["amount"])
    return totals


def read_amount(text):
    """`1234.50`, `1234,50` or `1.234,50` as a Decimal."""
    text = text.strip()
    if "," in text:
        text = text.replace(".", "").replace(",", ".")
    return Decimal(text)
