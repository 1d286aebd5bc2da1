from units.table import LENGTHS


class UnitError(Exception):
    pass


def convert(value, from_unit, to_unit):
    """`value` in another unit."""
    return value * LENGTHS[from_unit] / LENGTHS[to_unit]
