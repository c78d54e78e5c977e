from moorage.api.base import ApiModel
from moorage.api.field_docstrings import field_docstrings
from moorage.api.schema import structural_schema


class Base(ApiModel):
    first: int = 0
    """A text
    of two lines."""
    plain: str = ""


class Derived(Base):
    second_field: int = 0
    """The second."""
    first: int = 1
    """Replaced."""


def test_a_model_has_its_own_and_its_inherited_field_docstrings() -> None:
    assert field_docstrings(Base) == {"first": "A text\nof two lines."}
    assert field_docstrings(Derived) == {"first": "Replaced.", "second_field": "The second."}


def test_the_schema_describes_fields_with_their_docstrings() -> None:
    fields = structural_schema(Derived)["properties"]

    assert fields["secondField"]["description"] == "The second. Default: 0."
    assert "description" not in fields["plain"] or fields["plain"]["description"] == "Default: ."
