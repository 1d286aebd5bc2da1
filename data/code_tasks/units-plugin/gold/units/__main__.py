import sys

from units import UnitError, convert


def main(arguments):
    try:
        value, from_unit, to_unit = arguments
        print(f"{convert(float(value), from_unit, to_unit):.4f} {to_unit}")
    except (UnitError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


sys.exit(main(sys.argv[1:]))
