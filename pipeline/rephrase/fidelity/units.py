"""Units of measurement: names and symbols in several languages, with dimension and factor to a base unit."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple


class Unit(NamedTuple):
    dimension: str
    factor: float


_TABLE: dict[str, dict[float, str]] = {
    "length": {
        1.0: "m meter meters metre metres mètre mètres metros metro metern 米 公尺",
        1e3: "km kilometer kilometers kilometre kilometres kilometern kilomètre kilomètres kilómetro kilómetros 公里 千米",
        1e-2: "cm centimeter centimeters centimetre centimetres zentimeter zentimetern centimètre centimètres centímetro "
        "centímetros 厘米",
        1e-3: "mm millimeter millimeters millimetre millimetres millimetern millimètre millimètres milímetro milímetros 毫米",
        1e-6: "µm μm micrometer micrometers micron microns",
        1e-9: "nm nanometer nanometers nanometre nanometres nanomètres",
        1609.344: "mile miles meile meilen milla millas 英里",
        0.3048: "ft foot feet fuß pied pieds pie pies 英尺",
        0.0254: "inch inches zoll pouce pouces pulgada pulgadas 英寸",
        0.9144: "yard yards",
        1852.0: "seemeile seemeilen",
        9.4607e15: "light-year light-years lichtjahr lichtjahre lichtjahren",
    },
    "area": {
        1.0: "m² m2 m^2 quadratmeter quadratmetern",
        1e6: "km² km2 km^2 quadratkilometer quadratkilometern",
        1e-4: "cm² quadratzentimeter",
        1e4: "ha hectare hectares hektar hectárea hectáreas 公顷",
        4046.86: "acre acres",
    },
    "mass": {
        1e-3: "g gram grams gramme grammes gramm gramo gramos 克",
        1.0: "kg kilo kilos kilogram kilograms kilogramm kilogramme kilogrammes kilogramo kilogramos 千克 公斤",
        1e-6: "mg milligram milligrams milligramm milligramme milligrammes miligramo miligramos 毫克",
        1e-9: "µg μg microgram micrograms mikrogramm",
        1e3: "t tonne tonnes ton tons tonnen tonelada toneladas 吨",
        0.45359: "pound pounds lb lbs pfund livre livres libra libras",
        0.02835: "ounce ounces oz unze unzen once onces",
    },
    "time": {
        1.0: "s sec second seconds sekunde sekunden seconde secondes segundo segundos 秒",
        1e-3: "ms millisecond milliseconds millisekunde millisekunden milliseconde millisecondes milisegundos 毫秒",
        60.0: "min minute minutes minuten minuto minutos 分钟",
        3600.0: "h hour hours stunde stunden heure heures hora horas 小时",
        86400.0: "day days tag tage tagen jour jours día días 天",
        1209600.0: "fortnight fortnights",
        604800.0: "week weeks woche wochen semaine semaines semana semanas 周 星期",
        2629800.0: "month months monat monate monaten mois mes meses 个月",
        31557600.0: "year years jahr jahre jahren an ans année années año años",
        315576000.0: "decade decades jahrzehnt jahrzehnte jahrzehnten décennie décennies década décadas",
        3155760000.0: "century centuries jahrhundert jahrhunderte siècle siècles siglo siglos 世纪",
    },
    "part": {
        0.01: "% percent per-cent prozent pourcent ％ 个百分点",
        0.001: "‰ promille",
        1e-6: "ppm",
    },
    "money:eur": {1.0: "€ euro euros eur 欧元"},
    "money:usd": {1.0: "$ dollar dollars usd dólar dólares 美元"},
    "money:gbp": {1.0: "£ sterling gbp 英镑"},
    "money:chf": {1.0: "franc francs franken chf francos"},
    "money:cny": {1.0: "¥ yuan rmb 元 人民币"},
    "money:cent": {1.0: "cent cents centime centimes céntimo céntimos"},
    "temperature:c": {1.0: "°c celsius 摄氏度"},
    "temperature:f": {1.0: "°f fahrenheit"},
    "temperature:k": {1.0: "kelvin kelvins"},
    "degree": {1.0: "° degree degrees grad degré degrés grado grados 度"},
    "volume": {
        1.0: "l liter liters litre litres litern litro litros 升",
        1e-3: "ml milliliter milliliters millilitre millilitres millilitern 毫升",
        1e3: "m³ m3 kubikmeter kubikmetern",
        3.785: "gallon gallons gallone gallonen",
    },
    "power": {
        1.0: "w watt watts vatios",
        1e3: "kw kilowatt kilowatts kilovatios 千瓦",
        1e6: "mw megawatt megawatts megavatios 兆瓦",
        1e9: "gw gigawatt gigawatts",
    },
    "energy": {
        1.0: "j joule joules",
        1e3: "kj kilojoule kilojoules",
        3.6e6: "kwh kilowatt-hour kilowatt-hours kilowattstunde kilowattstunden kilowattheures",
        3.6e9: "mwh megawatt-hour megawatt-hours megawattstunde megawattstunden mégawattheures",
        3.6e12: "gwh",
        4184.0: "kcal kilocalorie kilocalories",
    },
    "frequency": {1.0: "hz hertz", 1e3: "khz kilohertz", 1e6: "mhz megahertz", 1e9: "ghz gigahertz"},
    "voltage": {
        1.0: "v volt volts voltios 伏",
        1e3: "kv kilovolt kilovolts",
        1e-3: "mv millivolt millivolts",
    },
    "current": {1.0: "ampere amperes amp amps ampères 安", 1e-3: "ma milliampere milliamperes"},
    "pressure": {
        1.0: "pa pascal pascals",
        100.0: "hpa hektopascal hectopascal hectopascals mbar millibar",
        1e3: "kpa kilopascal kilopascals",
        1e5: "bar bars",
        6894.76: "psi",
    },
    "force": {1.0: "newton newtons", 1e3: "kn kilonewton kilonewtons"},
    "data": {
        1.0: "byte bytes",
        1e3: "kb kilobyte kilobytes",
        1e6: "mb megabyte megabytes",
        1e9: "gb gigabyte gigabytes",
        1e12: "tb terabyte terabytes",
    },
    "bits": {
        1.0: "bit bits",
        1e6: "megabit megabits mbit",
        1e9: "gigabit gigabits gbit",
        1e12: "terabit terabits tbit",
    },
    "clock": {1.0: "uhr"},
    "speed": {1 / 3.6: "km/h kmh kph", 1.0: "m/s", 0.44704: "mph"},
}

UNITS: dict[str, Unit] = {
    name: Unit(dimension, factor)
    for dimension, sizes in _TABLE.items()
    for factor, names in sizes.items()
    for name in names.split()
}
"""Unit by name, in lower case."""

CASED = {
    "MW": UNITS["mw"],
    "mW": Unit("power", 1e-3),
    "K": UNITS["kelvin"],
    "A": UNITS["ampere"],
    "N": UNITS["newton"],
}
"""Symbols whose case matters or which are words in lower case."""

_SHORT = {
    "m",
    "g",
    "s",
    "h",
    "l",
    "t",
    "v",
    "w",
    "j",
    "an",
    "ft",
    "min",
    "pa",
    "ma",
    "mes",
    "pie",
    "once",
    "second",
    "元",
    "度",
}
"""Names that count as units directly behind a figure only, never behind a number in words."""

PHRASES: dict[tuple[str, ...], Unit] = {
    ("per", "cent"): UNITS["%"],
    ("per", "mille"): UNITS["‰"],
    ("pour", "cent"): UNITS["%"],
    ("por", "ciento"): UNITS["%"],
    ("degrees", "celsius"): UNITS["°c"],
    ("degrees", "c"): UNITS["°c"],
    ("grad", "c"): UNITS["°c"],
    ("degrees", "f"): UNITS["°f"],
    ("grados", "celsius"): UNITS["°c"],
    ("grad", "fahrenheit"): UNITS["°f"],
    ("degrees", "kelvin"): UNITS["kelvin"],
    ("centimeters", "squared"): Unit("area", 1e-4),
    ("square", "centimeters"): Unit("area", 1e-4),
    ("square", "miles"): Unit("area", 2589988.0),
    ("square", "feet"): Unit("area", 0.092903),
    ("metros", "cuadrados"): UNITS["m²"],
    ("metros", "cúbicos"): UNITS["m³"],
    ("kilómetros", "cuadrados"): UNITS["km²"],
    ("grad", "celsius"): UNITS["°c"],
    ("degrés", "celsius"): UNITS["°c"],
    ("degrees", "fahrenheit"): UNITS["°f"],
    ("square", "meters"): UNITS["m²"],
    ("square", "kilometers"): UNITS["km²"],
    ("mètres", "carrés"): UNITS["m²"],
    ("kilomètres", "carrés"): UNITS["km²"],
    ("cubic", "meters"): UNITS["m³"],
    ("mètres", "cubes"): UNITS["m³"],
    ("kilowatt", "hour"): UNITS["kwh"],
    ("kilowatt", "hours"): UNITS["kwh"],
    ("nautical", "miles"): Unit("length", 1852.0),
    ("light", "years"): UNITS["light-year"],
}
PER = {"per", "pro", "par", "por", "/", "je", "each", "every", "每"}
"""What joins two units; `a` and `an` do so before a time only."""


def unit_of(name: str, *, after_word: bool = False) -> Unit | None:
    """The unit called `name`; short symbols are refused behind a number in words."""
    if name in CASED:
        return CASED[name]
    lower = name.lower()
    if after_word and lower in _SHORT:
        return None
    return UNITS.get(lower) or _tail(lower)


_TAILS = ("jahre", "jahren", "tage", "tagen", "stunden", "minuten", "sekunden", "wochen", "monate", "monaten")


@cache
def _tail(lower: str) -> Unit | None:
    """The unit at the end of a German compound such as `Erdenjahre`."""
    return next((UNITS[tail] for tail in _TAILS if lower.endswith(tail) and len(lower) > len(tail)), None)
