"""The canonical form of quantities. The API server stores and returns quantities in this form."""

import re
from functools import lru_cache

from moorage.model.quantity import NANO, nano_value

_INVALID = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_EXPONENT = re.compile(r"[eE][+-]?[0-9]+$")
_CACHE_SIZE = 4096


@lru_cache(maxsize=_CACHE_SIZE)
def canonical(quantity: str | float) -> str:
    """Return a quantity as a whole number with the largest possible suffix. Raises ValueError.

    `0.5` -> `500m`, `1000m` -> `1`, `1024Mi` -> `1Gi`. A quantity with an exponent does not change.
    """
    text = str(quantity)
    try:
        nano = nano_value(quantity)
    except ValueError as error:
        raise ValueError(_INVALID) from error
    if nano == 0:
        return "0"
    if _EXPONENT.search(text):
        return text
    if text.endswith("i") and nano % NANO == 0:
        return _with_suffix(nano // NANO, 1024, _BINARY)
    return _with_suffix(nano, 1000, _DECIMAL)


def _with_suffix(amount: int, base: int, suffixes: tuple[str, ...]) -> str:
    index = 0
    while amount % base == 0 and index < len(suffixes) - 1:
        amount //= base
        index += 1
    return f"{amount}{suffixes[index]}"
