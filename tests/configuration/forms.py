"""Texts of configuration files, in all forms of YAML and JSON that may occur.

`test_forms` checks how moorage reads them. `test_forms_on_kube_scheduler` checks that kube-scheduler agrees.
"""

from __future__ import annotations

import codecs
from typing import NamedTuple

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
JSON = '{"apiVersion": "kubescheduler.config.k8s.io/v1",\n\t"kind": "KubeSchedulerConfiguration"'
FIRST_PROFILE = "profiles:\n- &base {schedulerName: first, percentageOfNodesToScore: 7}\n"


class Form(NamedTuple):
    """A text that the loader accepts."""

    text: str | bytes
    parallelism: int = 16
    profiles: tuple[str, ...] = ()

    @property
    def content(self) -> bytes:
        """The bytes of the file."""
        return self.text if isinstance(self.text, bytes) else self.text.encode()


class Refusal(NamedTuple):
    """A text that the loader refuses, and a part of the error message."""

    text: str | bytes
    message: str

    @property
    def content(self) -> bytes:
        """The bytes of the file."""
        return self.text if isinstance(self.text, bytes) else self.text.encode()


THREE = HEADER + "parallelism: 3\n"

READ = {
    "plain": Form(THREE, 3),
    "leading-separator": Form("---\n" + THREE, 3),
    "separator-with-comment": Form("# a chart\n--- # rendered\n" + THREE, 3),
    "trailing-separator": Form("# rendered by a chart\n---\n" + THREE + "---\n", 3),
    "trailing-separators-and-comments": Form(THREE + "---\n---\n# nothing\n", 3),
    "document-end": Form(THREE + "...\n", 3),
    "document-end-and-comment": Form(THREE + "... # end\n# nothing\n", 3),
    "trailing-null-document": Form(THREE + "---\nnull\n", 3),
    "yaml-directive": Form("%YAML 1.1\n---\n" + THREE, 3),
    "tag-directive": Form("%TAG !e! tag:example.com,2000:\n---\n" + THREE, 3),
    "windows-lines": Form(THREE.replace("\n", "\r\n"), 3),
    "old-mac-lines": Form(THREE.replace("\n", "\r"), 3),
    "indented": Form("  " + THREE.replace("\n", "\n  ").rstrip(" "), 3),
    "utf-8-mark": Form(codecs.BOM_UTF8 + THREE.encode(), 3),
    "utf-16-little-endian": Form(codecs.BOM_UTF16_LE + THREE.encode("utf-16-le"), 3),
    "utf-16-big-endian": Form(codecs.BOM_UTF16_BE + THREE.encode("utf-16-be"), 3),
    "utf-16-windows-lines": Form(codecs.BOM_UTF16_LE + THREE.replace("\n", "\r\n").encode("utf-16-le"), 3),
    "utf-16-json": Form(codecs.BOM_UTF16_LE + f"{JSON}}}".encode("utf-16-le")),
    "utf-8-mark-json": Form(codecs.BOM_UTF8 + f'{JSON}, "parallelism": 3}}'.encode(), 3),
    "tab-after-key": Form(HEADER + "parallelism:\t3\n", 3),
    "tabs-in-flow": Form(HEADER + "profiles: [\n\t{schedulerName: a}\t]\n", profiles=("a",)),
    "comment-with-braces": Form(HEADER + "# {{ .Values.x }}\nparallelism: 3 # ${X}\n", 3),
    "explicit-key": Form(HEADER + "? parallelism\n: 3\n", 3),
    "anchored-key": Form(HEADER + "&key parallelism : 3\n", 3),
    "alias": Form(HEADER + "percentageOfNodesToScore: &n 3\nparallelism: *n\n", 3),
    "anchor-twice": Form(HEADER + "parallelism: &n 3\npodMaxBackoffSeconds: &n 40\npodInitialBackoffSeconds: *n\n", 3),
    "block-text": Form(HEADER + "profiles:\n- schedulerName: |-\n    a\n", profiles=("a",)),
    "folded-text": Form(HEADER + "profiles:\n- schedulerName: >-\n    a\n", profiles=("a",)),
    "merge-top": Form(HEADER + "<<: {parallelism: 3}\n", 3),
    "merge-alias": Form(
        HEADER + "profiles:\n- schedulerName: a\n  plugins: {filter: &none {}, score: {<<: *none}}\n", profiles=("a",)
    ),
    "merge-list": Form(
        HEADER + "profiles:\n- {<<: [{schedulerName: a}, {percentageOfNodesToScore: 3}]}\n", profiles=("a",)
    ),
    "merge-twice": Form(
        HEADER + "profiles:\n- {<<: {schedulerName: a}, <<: {percentageOfNodesToScore: 3}}\n", profiles=("a",)
    ),
    "merge-nested": Form(HEADER + "<<: {<<: {parallelism: 3}, percentageOfNodesToScore: 3}\n", 3),
    "hexadecimal": Form(HEADER + "parallelism: 0x10\n", 16),
    "octal": Form(HEADER + "parallelism: 020\n", 16),
    "octal-1.2": Form(HEADER + "parallelism: 0o17\n", 15),
    "no-octal": Form(HEADER + "parallelism: 08\n", 8),
    "binary": Form(HEADER + "parallelism: 0b101\n", 5),
    "underscores": Form(HEADER + "parallelism: 1_0\n", 10),
    "plus": Form(HEADER + "parallelism: +5\n", 5),
    "exponent": Form(HEADER + "parallelism: 1e1\n", 10),
    "whole-float": Form(HEADER + "parallelism: 16.0\n", 16),
    "tagged-int": Form(HEADER + "parallelism: !!int '3'\n", 3),
    "tagged-float": Form(HEADER + "parallelism: !!float 3\n", 3),
    "tagged-text": Form(HEADER + "profiles: [{schedulerName: !!str 5}]\n", profiles=("5",)),
    "tagged-as-not-plain": Form(HEADER + "profiles: [{schedulerName: ! 5}]\n", profiles=("5",)),
    "too-large-float": Form(HEADER + "profiles: [{schedulerName: 1e400}]\n", profiles=("1e400",)),
    "tagged-binary": Form(HEADER + "profiles: [{schedulerName: !!binary YWJj}]\n", profiles=("abc",)),
    "tagged-mapping": Form(HEADER + "leaderElection: !mine {leaderElect: false}\n"),
    "date-is-text": Form(HEADER + "profiles: [{schedulerName: 2001-01-01}]\n", profiles=("2001-01-01",)),
    "booleans": Form(HEADER + "enableProfiling: on\nenableContentionProfiling: Y\ndelayCacheUntilActive: NO\n"),
    "nulls": Form(HEADER + "leaderElection: null\nparallelism: ~\nprofiles:\n"),
    "json": Form(f'{JSON}, "parallelism": 3}}', 3),
    "json-with-space": Form(f"\r\n\t {JSON}}}\n\n"),
    "json-with-escapes": Form(
        f'{JSON}, "parall\\u0065lism": 3, "profiles": [{{"schedulerName": "\\u0061"}}]}}', 3, profiles=("a",)
    ),
    "json-nulls": Form(f'{JSON}, "profiles": null, "leaderElection": {{}}, "extenders": []}}'),
    "json-after-comment": Form(f"# as YAML\n{JSON}}}"),
    "json-after-separator": Form(f"---\n{JSON}}}\n---\n"),
}
"""Texts that moorage and kube-scheduler both accept."""

OVERRIDING = {
    "merge-overridden": Form(
        HEADER + FIRST_PROFILE + "- {<<: *base, schedulerName: second}\n", profiles=("first", "second")
    ),
    "merge-after-field": Form(
        HEADER + FIRST_PROFILE + "- {schedulerName: second, <<: *base}\n", profiles=("first", "second")
    ),
    "merge-list-of-equal-fields": Form(
        HEADER + "profiles:\n- <<: [{schedulerName: a}, {schedulerName: b}]\n", profiles=("a",)
    ),
}
"""Texts with merge keys that moorage reads as YAML defines them. kube-scheduler refuses these texts."""

REFUSED = {
    "nothing": Refusal("", "line 1: the file has no content; it must hold one KubeSchedulerConfiguration"),
    "comments": Refusal("# a\n# b\n", "line 1: the file has no content"),
    "null": Refusal("null\n", "line 1: the file has no content"),
    "text": Refusal("just words\n", "line 1: the file is not a mapping"),
    "empty-first-document": Refusal("---\n---\n" + THREE, "line 3: the first document is empty"),
    "empty-document-before-content": Refusal("# a\n---\n...\n" + THREE, "line 4: the first document is empty"),
    "yaml-1.2": Refusal("%YAML 1.2\n---\n" + THREE, "line 1: this is not valid YAML: found a directive other than"),
    "directive": Refusal("%FOO bar\n---\n" + THREE, "line 1: this is not valid YAML: found a directive other than"),
    "flow-mapping": Refusal(
        "{apiVersion: kubescheduler.config.k8s.io/v1}", "line 1: the file begins with {, so it must be JSON"
    ),
    "json-repeated": Refusal(f'{JSON}, "parallelism": 3,\n"parallelism": 3}}', "line 3: parallelism: is repeated"),
    "json-comma": Refusal(f"{JSON},\n}}", "line 3: the file begins with {, so it must be JSON"),
    "json-whole-float": Refusal(f'{JSON}, "parallelism": 16.0}}', "line 2: parallelism: must be a whole number"),
    "json-exponent": Refusal(f'{JSON}, "parallelism": 1e1}}', "line 2: parallelism: must be a whole number"),
    "json-nan": Refusal(f'{JSON}, "parallelism": NaN}}', "JSON has no number NaN"),
    "json-comment": Refusal(f"// a comment\n{JSON}}}", "line 2: this is not valid YAML"),
    "json-twice": Refusal(f"{JSON}}}\n{JSON}}}", "line 3: the JSON object ends before this text"),
    "json-and-separator": Refusal(f"{JSON}}}\n---\n", "line 3: the JSON object ends before this text"),
    "json-case": Refusal(f'{JSON}, "Parallelism": 3}}', "line 2: Parallelism: is not a known field; did you mean par"),
    "tab-indent": Refusal(
        HEADER + "leaderElection:\n\tleaderElect: false\n", "line 4: this is not valid YAML: found character '\\t'"
    ),
    "tab-at-end": Refusal(THREE + "\t\n", "indent with spaces, not with tabs"),
    "less-indented": Refusal("  " + THREE, "line 2: this is not valid YAML"),
    "unknown-alias": Refusal(HEADER + "parallelism: *n\n", "line 3: this is not valid YAML: found undefined alias"),
    "alias-of-itself": Refusal(HEADER + "profiles: &p [*p]\n", "line 3: the file has too many levels"),
    "merge-of-itself": Refusal(HEADER + "profiles: [&p {<<: *p}]\n", "line 3: the file has too many levels"),
    "merge-of-number": Refusal(
        HEADER + "profiles: [{<<: 3}]\n", "line 3: profiles[0]: a merge key (<<) needs a mapping"
    ),
    "merge-of-list": Refusal(HEADER + "profiles: [{<<: [3]}]\n", "line 3: profiles[0]: a merge key (<<) needs"),
    "merge-in-quotes": Refusal(HEADER + "profiles: [{'<<': {}}]\n", "line 3: profiles[0].<<: is not a known field"),
    "merge-of-repeated": Refusal(
        HEADER + "profiles: [{<<: {schedulerName: a, schedulerName: b}}]", "profiles[0].schedulerName: is repeated"
    ),
    "repeated": Refusal(THREE + "parallelism: 3\n", "line 4: parallelism: is repeated; line 3 has it already"),
    "number-as-name": Refusal(HEADER + "3: 4\n", "line 3: the field name '3' must be text"),
    "null-as-name": Refusal(HEADER + "~: 4\n", "line 3: the field name '~' must be text"),
    "mapping-as-name": Refusal(HEADER + "? {a: b}\n: 4\n", "line 3: this field name must be text"),
    "text-number": Refusal(HEADER + "parallelism: '3'\n", "parallelism: must be a whole number, not the text '3'"),
    "sexagesimal": Refusal(HEADER + "parallelism: 1:10\n", "parallelism: must be a whole number, not the text '1:10'"),
    "y-as-text": Refusal(HEADER + "profiles: [{schedulerName: y}]\n", "schedulerName: must be text, not true"),
    "exponent-as-text": Refusal(HEADER + "profiles: [{schedulerName: 1e3}]\n", "schedulerName: must be text, not 1000"),
    "tagged-wrongly": Refusal(
        HEADER + "parallelism: !!int many\n", "line 3: parallelism: is not a value of the tag !!int"
    ),
    "infinity": Refusal(HEADER + "parallelism: .inf\n", "parallelism: must be a whole number"),
    "latin-1": Refusal(HEADER.encode() + b"# caf\xe9\n", "line 3: file is not UTF-8"),
    "utf-16-without-mark": Refusal(THREE.encode("utf-16-le"), "file is not UTF-8, and UTF-16 needs a byte order mark"),
    "utf-16-cut": Refusal(codecs.BOM_UTF16_LE + THREE.encode("utf-16-le")[:-1], "line 3: file is not UTF-16"),
    "utf-32": Refusal(THREE.encode("utf-32"), "file is not UTF-8"),
    "mark-inside": Refusal(
        HEADER + "\ufeffparallelism: 3\n", "line 3: the field name has an invisible byte order mark"
    ),
    "control-character": Refusal(
        THREE + "# \a\n", "line 4: this is not valid YAML: it has the control character U+0007"
    ),
    "zero-character": Refusal(THREE + "\0\n", "line 4: this is not valid YAML: it has the control character U+0000"),
    "lone-surrogate": Refusal(HEADER + 'profiles: ["\\ud800"]\n', "found an escape that is not a Unicode"),
    "unrendered": Refusal(
        HEADER + "profiles:\n- schedulerName: {{ .Values.schedulerName }}\n",
        "line 4: profiles[0].schedulerName: {{ .Values.schedulerName }} is a template that was not rendered",
    ),
    "unrendered-block": Refusal(
        HEADER + "{{- if .Values.parallelism }}\nparallelism: 3\n{{- end }}\n",
        "line 3: {{- if .Values.parallelism }} is a",
    ),
    "unrendered-number": Refusal(
        HEADER + "parallelism: {{ n }}\n", "line 3: parallelism: {{ n }} is a template that was"
    ),
    "unrendered-jinja": Refusal(
        HEADER + "{% if x %}\nparallelism: 3\n", "line 3: {% if x %} is a template that was not"
    ),
    "unrendered-variable": Refusal(
        HEADER + "parallelism: ${N}\n", "line 3: parallelism: ${N} is a template that was not"
    ),
    "unrendered-json": Refusal(f'{JSON},\n"parallelism": {{{{ n }}}}}}', "line 3: {{ n }} is a template that was not"),
}
"""Texts that moorage and kube-scheduler both refuse."""

STRICTER = {
    "two-documents": Refusal(f"---\n{THREE}---\n{THREE}", "line 6: a second document begins here"),
    "two-documents-and-end": Refusal(f"{THREE}...\n{THREE}", "line 5: a second document begins here"),
    "invalid-second-document": Refusal(f"{THREE}---\na: [\n", "a second document begins here"),
    "unknown-tag": Refusal(
        HEADER + "profiles: [{schedulerName: !ENV NAME}]\n", "has the unknown tag !ENV; write the value"
    ),
    "unrendered-text": Refusal(
        HEADER + "profiles:\n- schedulerName: '{{ .Values.name }}'\n",
        "line 4: profiles[0].schedulerName: {{ .Values.name }} is a template that was not rendered",
    ),
    "empty-element": Refusal(HEADER + "profiles:\n-\n", "line 4: profiles[0]: must be a mapping, not null"),
}
"""Texts that moorage refuses and kube-scheduler accepts. kube-scheduler drops the parts that it does not use."""
