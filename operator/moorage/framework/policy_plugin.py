"""PolicyPlugin: the base of plugins that have their own fields in a SchedulingPolicy.

Each plugin declares which part of the policy's spec configures the plugin, and the policy compiler reads these
declarations. So a new field needs changes only in the model of the section and in the plugin.
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
    """A plugin that the spec of a SchedulingPolicy enables and configures, in a section or in `filters`.

    The fields of the section are the plugin's arguments. If the policy has the section, the plugin's Score runs with
    `default_weight`.
    """

    policy_section: ClassVar[str | None] = None
    """The name of the section's field in SchedulingPolicySpec. None if only `filters` configures the plugin."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Raise TypeError if SchedulingPolicySpec has no field named `policy_section`."""
        super().__pydantic_init_subclass__(**kwargs)
        if cls.policy_section is not None and cls.policy_section not in SchedulingPolicySpec.model_fields:
            raise TypeError(f"plugin {cls.__name__}: SchedulingPolicySpec has no field {cls.policy_section}")

    @classmethod
    def section_of(cls, spec: SchedulingPolicySpec) -> ApiModel | None:
        """Return the plugin's section; None if the policy does not have the section."""
        return getattr(spec, cls.policy_section) if cls.policy_section else None

    @classmethod
    def filter_arguments(cls, filters: FiltersSection) -> dict[str, Any]:
        """Return the arguments that come from `spec.filters`. The fields of the section override these arguments."""
        del filters
        return {}

    @classmethod
    def is_filter_required(cls, spec: SchedulingPolicySpec) -> bool:
        """Return whether the policy needs the plugin's Filter. By default, it does if `spec.filters` sets arguments."""
        return any(cls.filter_arguments(spec.filters).values())
