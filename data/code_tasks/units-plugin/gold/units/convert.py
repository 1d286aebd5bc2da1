from units.table import TABLE


class UnitError(Exception):
    pass


def convert(value, from_unit, to_unit):
    """`value` in another unit of the same kind."""
    kind, other = _kind(from_unit), _kind(to_unit)
    if kind != other:
        raise UnitError(f"{from_unit} is a {kind}, {to_unit} is a {other}")
    if from_unit == to_unit:
        return value
    (factor, offset), (to_factor, to_offset) = TABLE[kind][from_unit], TABLE[kind][to_unit]
    return (value * factor + (offset - to_offset)) / to_factor


def kinds():
    """The units of each kind."""
    return {kind: sorted(units) for kind, units in TABLE.items()}


def _kind(unit):
    for kind, units in TABLE.items():
        if unit in units:
            return kind
    raise UnitError(f"there is no unit {unit}")
