"""The extender of a SchedulingPolicy: kube-scheduler's fields, with limits that the operator's flags set.

The author of a policy writes these extenders, and not the operator's administrator. So the runtime restricts them. It
recognizes them by their class.
"""

from typing import Annotated

from pydantic import Field

from moorage.api.extender import Extender, ExtenderTLSConfig, FilePath


class PolicyExtenderTLSConfig(ExtenderTLSConfig):
    """HTTPS settings for an extender. Data fields take precedence over file fields.

    Files must be below the directory of the operator's flag --policy-extender-tls-dir. Without that flag, only data
    fields can be used.
    """

    cert_file: FilePath | None = None
    """Path of the client certificate in PEM format, below the directory of --policy-extender-tls-dir."""
    key_file: FilePath | None = None
    """Path of the key of the client certificate in PEM format, below the directory of --policy-extender-tls-dir."""
    ca_file: FilePath | None = None
    """Path of the CA certificates that verify the extender's certificate, in PEM format, below the directory of
    --policy-extender-tls-dir."""


class PolicyExtender(Extender):
    """A web service that the scheduler calls in addition to its plugins.

    The operator's flag --policy-extenders must list the host of `urlPrefix`. The extender receives pods without
    environment variables, commands, arguments and annotations.
    """

    tls_config: Annotated[PolicyExtenderTLSConfig | None, Field(alias="tlsConfig")] = None
    """HTTPS settings. Required if `enableHTTPS` is true."""
