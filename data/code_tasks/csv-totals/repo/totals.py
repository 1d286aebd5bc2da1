"""Adds up an expense file per category."""

import csv


def read_totals(path):
    """Category to sum of amounts, from a file with the columns date, category, amount."""
    totals = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file, delimiter=";"):
            totals[row["category"]] = totals.get(row["category"], 0) + float(row["amount"])
    return totals
