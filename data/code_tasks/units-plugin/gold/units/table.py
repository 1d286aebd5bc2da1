# kind: unit: (factor, offset), so that value * factor + offset is in the kind's base unit
TABLE = {
    "length": {"m": (1.0, 0), "km": (1000.0, 0), "cm": (0.01, 0), "mi": (1609.344, 0), "ft": (0.3048, 0)},
    "mass": {"g": (1.0, 0), "kg": (1000.0, 0), "lb": (453.59237, 0), "oz": (453.59237 / 16, 0)},
    "temperature": {"K": (1.0, 0), "C": (1.0, 273.15), "F": (5 / 9, 273.15 - 32 * 5 / 9)},
}
