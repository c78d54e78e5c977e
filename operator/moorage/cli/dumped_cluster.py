"""A dump of the live cluster in a temporary file, for commands that read dumps."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def dumped_cluster(kubeconfig: Path | None, context: str | None) -> Iterator[Path]:
    """List the cluster of a kubeconfig, and yield the path of its dump. Remove the file when the block ends."""
    from moorage.app.cluster_commands import list_cluster
    from moorage.cli.listing_bar import ListingBar
    from moorage.inventory import write_dump
    from moorage.settings import Settings

    with ListingBar() as bar:
        inventory = asyncio.run(list_cluster(Settings(kubeconfig=kubeconfig, context=context), bar))
    with tempfile.TemporaryDirectory(prefix="moorage-") as folder:
        file = Path(folder) / "cluster"
        write_dump(inventory, file)
        yield file
