"""Decodes the bytes of a configuration file, in the encodings that kube-scheduler reads.

These are UTF-8, and UTF-16 that starts with a byte order mark. Windows PowerShell writes UTF-16.
Upstream: yaml_parser_determine_encoding in go.yaml.in/yaml/v2 readerc.go.
"""

import codecs
from pathlib import Path

from moorage.errors import ConfigurationError, Fault

NULLS_OF_WIDE_TEXT = 4
"""If more than one in four characters is zero, the file is UTF-16 or UTF-32. UTF-8 text normally has no zeros."""
_UTF_16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def decode(content: bytes, file: Path) -> str:
    """Return the text of a file, with its byte order mark. Raise ConfigurationError for any other encoding."""
    encoding = _UTF_16.get(content[:2], "utf-8")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content[: error.start].decode(encoding, "ignore").count("\n") + 1
        name = encoding[:6].rstrip("-").upper()
        message = f"{file} is not {name}: {error.reason}"
        raise ConfigurationError([Fault((), line, message)]) from error
    if text.count("\0") > len(text) // NULLS_OF_WIDE_TEXT:
        message = f"{file} is not UTF-8, and UTF-16 needs a byte order mark; save it as UTF-8"
        raise ConfigurationError([Fault((), 1, message)])
    return text
