"""PolicyPlugin: the base of plugins that a SchedulingPolicy configures through fields of its own.

The plugin declares which part of the policy's spec configures it. The policy compiler, and the field paths in its
errors, follow these declarations. So a new field needs changes only in the section's model and in the plugin.
"""

from __future__ import annotations

from abc import ABC
from typing import TYPE_CHECKING, Any, ClassVar

from moorage.api.policy_spec import SchedulingPolicySpec
from moorage.framework.extension_points import Plugin

if TYPE_CHECKING:
    from moorage.api.base import ApiModel
    from moorage.api.policy_filters import FiltersSection


class PolicyPlugin(Plugin, ABC):
    """A plugin that a section of a SchedulingPolicy, or its `filters`, enables and configures.

    If the policy has the section, the plugin's Score runs with `default_weight`; the section's fields are its
    arguments.
    """

    policy_section: ClassVar[str | None] = None
    """The section: the name of a field of SchedulingPolicySpec. None: the plugin depends on `filters` only."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Raise TypeError if SchedulingPolicySpec has no field named `policy_section`."""
        super().__pydantic_init_subclass__(**kwargs)
        if cls.policy_section is not None and cls.policy_section not in SchedulingPolicySpec.model_fields:
            raise TypeError(f"plugin {cls.__name__}: SchedulingPolicySpec has no field {cls.policy_section}")

    @classmethod
    def section_of(cls, spec: SchedulingPolicySpec) -> ApiModel | None:
        """Return the plugin's section; None if the policy does not have it."""
        return getattr(spec, cls.policy_section) if cls.policy_section else None

    @classmethod
    def filter_arguments(cls, filters: FiltersSection) -> dict[str, Any]:
        """Return the arguments that come from `spec.filters`. The section's fields override them."""
        del filters
        return {}

    @classmethod
    def is_filter_required(cls, spec: SchedulingPolicySpec) -> bool:
        """Return whether the policy needs the plugin's Filter; by default if `spec.filters` gives it arguments."""
        return any(cls.filter_arguments(spec.filters).values())
