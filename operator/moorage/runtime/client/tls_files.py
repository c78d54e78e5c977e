"""Lends bytes a path, for `ssl.SSLContext.load_cert_chain`, which reads nothing but files."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import NamedTemporaryFile


@contextmanager
def as_file(content: bytes) -> Iterator[str]:
    """Give the path under which `content` can be read within the block.

    On Linux it stays in memory: keys do not belong on a disk, and a container may have none to write to.
    """
    if sys.platform == "linux":
        with os.fdopen(os.memfd_create("moorage"), "wb") as file:
            file.write(content)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
    else:
        with NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            yield file.name
