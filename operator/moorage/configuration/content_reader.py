"""Reads a configuration text as JSON or as YAML, by kube-scheduler's rule: JSON begins with `{`."""

from moorage.configuration.json_reader import read_json
from moorage.configuration.located_content import LocatedContent
from moorage.configuration.unrendered_templates import explain, template_fault
from moorage.configuration.yaml_reader import read_yaml
from moorage.errors import ConfigurationError


def read_content(text: str) -> LocatedContent:
    """Parse a text. Raise ConfigurationError if the text is not valid, or if it is a template that was not rendered."""
    try:
        return read_json(text) if text.lstrip().startswith("{") else read_yaml(text)
    except ConfigurationError as error:
        template = template_fault(text)
        raise ConfigurationError([template] if template else explain(text, error.faults)) from error
