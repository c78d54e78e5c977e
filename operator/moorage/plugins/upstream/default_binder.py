"""DefaultBinder: binds a pod through the `binding` subresource.

Upstream: pkg/scheduler/framework/plugins/defaultbinder/default_binder.go.
"""

from moorage.framework.extension_points import BindPlugin


class DefaultBinder(BindPlugin):
    """Binds pods; the runtime's binder makes the API call."""
