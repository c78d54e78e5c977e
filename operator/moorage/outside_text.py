"""Makes text from outside safe to show: extenders' and API servers' errors, names, output of plugins, content of files.

Such text reaches logs, events, conditions and the terminal. Newlines would forge log lines, escape sequences would
control the terminal, bidirectional overrides would show another text than the one that is there, and megabytes would
not fit into an event. Errors call this for their messages, decoders for the reasons that they keep; the log formatters
and the writers of events and conditions call it again, as the last line of defence.
"""

import re

CHARACTERS = 1024
"""The default limit: the length of an event's note, which most of this text ends up in."""
CUT = " ..."
"""Ends a cut text, as in kube-scheduler's events."""

_ESCAPE_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI: colours, movements of the cursor
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS, ...: titles, links
    r"|\x1b[ -/]*[0-~]?"
)


def one_line(text: str, characters: int = CHARACTERS) -> str:
    """Return text as one line of printable characters, cut to this number of characters.

    Whitespace becomes a space, half a surrogate pair U+FFFD. Everything else that does not print is left out: escape
    sequences, control and format characters, bidirectional overrides.
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
