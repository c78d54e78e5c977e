"""Quantities follow the rules of Go's `resource.Quantity`."""

import math
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.model.quantity import milli_value, nano_value, value

INT64_MAX = 2**63 - 1
SUFFIXES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    **{suffix: Fraction(1000**power) for power, suffix in enumerate("kMGTPE", start=1)},
    **{f"{suffix}i": Fraction(1024**power) for power, suffix in enumerate("KMGTPE", start=1)},
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("-0", 0),
        ("0Ki", 0),
        ("1", 1),
        ("+1", 1),
        ("1.", 1),
        (".5", 1),
        ("1.5", 2),
        ("100m", 1),
        ("1n", 1),
        ("0.0000000001", 1),
        ("1Ki", 1024),
        ("0.5Ki", 512),
        ("1.1Ki", 1127),
        ("8Gi", 8 * 2**30),
        ("1Ei", 2**60),
        ("1k", 1000),
        ("1E", 10**18),
        ("1e3", 1000),
        ("1E3", 1000),
        ("12.3e1", 123),
        ("1e-1", 1),
        ("129e6", 129_000_000),
        ("128974848000m", 128974848),
        ("9223372036854775807", INT64_MAX),
        ("10E", INT64_MAX),
        ("9Ei", INT64_MAX),
        ("100000Ei", INT64_MAX),
        ("1e1000", INT64_MAX),
        ("-1.5", -2),
        ("-1e30", -INT64_MAX),
    ],
)
def test_value_is_rounded_up_to_whole_units_and_limited_to_int64(text: str, expected: int) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", 1000),
        ("100m", 100),
        ("0.0001", 1),
        ("0.1m", 1),
        ("1.5m", 2),
        ("250u", 1),
        ("2k", 2_000_000),
        ("1E", INT64_MAX),
    ],
)
def test_milli_value_is_rounded_up_to_thousandths(text: str, expected: int) -> None:
    assert milli_value(text) == expected


@pytest.mark.parametrize(("number", "expected"), [(2, 2000), (0.5, 500), (1e3, 1_000_000)])
def test_json_number_is_read_as_a_quantity(number: float, expected: int) -> None:
    assert milli_value(number) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", " ", " 1", "1 ", ".", "-", "+", "1K", "1ki", "1mi", "1Mib", "1_000", "NaN", "Infinity", "inf", "1e",
        "1E3m", "1.1.1", "1+1", "--1", "0x10", "\N{ARABIC-INDIC DIGIT ONE}", "1e3Ki",
        "1\n", "aoeu", ".5i", "-3.01i", "0.1am",
    ],
)  # fmt: skip
def test_invalid_quantity_raises_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(repr(text))} is not a quantity"):
        value(text)


@given(
    whole=st.integers(0, 10**25),
    fraction=st.text("0123456789", max_size=12),
    suffix=st.sampled_from(sorted(SUFFIXES)),
    negative=st.booleans(),
)
def test_quantities_agree_with_exact_fractions(whole: int, fraction: str, suffix: str, *, negative: bool) -> None:
    text = f"{'-' if negative else ''}{whole}{'.' + fraction if fraction else ''}{suffix}"
    exact = (Fraction(whole) + Fraction(int(fraction or 0), 10 ** len(fraction))) * SUFFIXES[suffix]
    nano = math.ceil(exact * 10**9)
    sign = -1 if negative else 1
    assert value(text) == sign * min(math.ceil(Fraction(nano, 10**9)), INT64_MAX)
    if not suffix.endswith("i"):
        assert nano_value(text) == sign * nano
        assert milli_value(text) == sign * min(math.ceil(Fraction(nano, 10**6)), INT64_MAX)
    elif nano <= INT64_MAX * 10**9:
        assert milli_value(text) == sign * min(math.ceil(Fraction(nano, 10**6)), INT64_MAX)


@given(mantissa=st.integers(0, 10**6), exponent=st.integers(-40, 40))
def test_quantities_with_an_exponent_agree_with_exact_fractions(mantissa: int, exponent: int) -> None:
    exact = Fraction(mantissa) * Fraction(10) ** exponent
    nano = math.ceil(exact * 10**9)
    assert value(f"{mantissa}e{exponent}") == min(math.ceil(Fraction(nano, 10**9)), INT64_MAX)
