"""Makes text from outside safe to show: extenders' and API servers' errors, names, output of plugins, content of files.

Such text reaches logs, events, conditions and the terminal. Newlines would forge log lines, escape sequences would
control the terminal, bidirectional overrides would change the order of the shown text, and megabytes would not fit into
an event. Errors call `one_line` for their messages, and decoders for the reasons that they keep. The log formatters and
the writers of events and conditions call it once more, in case a caller forgot it.
"""

import re

CHARACTERS = 1024
"""The default limit. It is the length of an event's note, because most of this text is shown in events."""
CUT = " ..."
"""The end of a cut text, as in kube-scheduler's events."""

_ESCAPE_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI: colours, movements of the cursor
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS, ...: titles, links
    r"|\x1b[ -/]*[0-~]?"
)


def one_line(text: str, characters: int = CHARACTERS) -> str:
    """Return text as one line of printable characters, cut to this number of characters.

    Whitespace becomes a space. Half a surrogate pair becomes U+FFFD. Everything else that is not printable is left out:
    escape sequences, control and format characters, bidirectional overrides.
    """
    shown = text[: 2 * characters]
    if not shown.isprintable():
        shown = "".join(map(_shown, _ESCAPE_SEQUENCES.sub("", shown)))
    if len(text) <= 2 * characters and len(shown) <= characters:
        return shown
    return shown[: characters - len(CUT)] + CUT


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    if character.isspace():
        return " "
    return "\ufffd" if "\ud800" <= character <= "\udfff" else ""
