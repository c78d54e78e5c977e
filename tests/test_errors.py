"""The texts of errors that list faults."""

from moorage.errors import Fault, InvalidPolicy, summary_of


def test_a_mistake_in_several_places_is_described_once() -> None:
    places = [("spec", "extenders", index, "caData") for index in range(5)]
    faults = [Fault(("zones",), 3, "is unknown"), *(Fault(place, None, "holds no PEM") for place in places)]
    assert summary_of(faults) == (
        "line 3: zones: is unknown; "
        "spec.extenders[0].caData, spec.extenders[1].caData, spec.extenders[2].caData and 2 more: holds no PEM"
    )
    assert summary_of([Fault((), None, "is empty")]) == "is empty"
    assert str(InvalidPolicy(faults[:1])) == "the policy is refused: line 3: zones: is unknown"
