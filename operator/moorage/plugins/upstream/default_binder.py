"""DefaultBinder: a pod is bound by a call of its `binding` subresource.

Upstream: pkg/scheduler/framework/plugins/defaultbinder/default_binder.go.
"""

from moorage.framework.extension_points import BindPlugin


class DefaultBinder(BindPlugin):
    """Says that a profile binds pods itself; the call is made outside of the core, by the runtime's binder."""
