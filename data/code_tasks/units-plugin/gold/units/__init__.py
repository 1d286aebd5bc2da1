from units.convert import UnitError, convert, kinds

__all__ = ["UnitError", "convert", "kinds"]
