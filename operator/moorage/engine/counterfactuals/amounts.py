"""Amounts of resources as Kubernetes quantities."""

from moorage.model.resources import CPU, EPHEMERAL_STORAGE, MEMORY

_UNITS = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def amount_text(resource: str, amount: int) -> str:
    """Return an amount in the scheduler's unit as an exact Kubernetes quantity, such as `600m`, `2` or `512Mi`."""
    if resource == CPU:
        return f"{amount // 1000}" if amount % 1000 == 0 else f"{amount}m"
    if resource not in {MEMORY, EPHEMERAL_STORAGE} and not resource.startswith("hugepages-"):
        return str(amount)
    unit = ""
    for name in _UNITS:
        if amount == 0 or amount % 1024:
            break
        amount, unit = amount // 1024, name
    return f"{amount}{unit}"
