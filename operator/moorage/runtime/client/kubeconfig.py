"""The kubeconfig: client-go's structs, and the choice of a context.

The structs have all fields of upstream's structs, except `preferences` and `extensions` of the whole file, which are
ignored. `kubeconfig_checks` refuses fields that moorage cannot honour. If a field has no effect, the docstring of the
field says so. This module must not read the files that a kubeconfig names, and must not run plugins.
Upstream: staging/src/k8s.io/client-go/tools/clientcmd/api/v1/types.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import Struct, field

from moorage.errors import CredentialsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

T = TypeVar("T")


class NamedExtension(Struct, frozen=True):
    """Data for another program. It has no effect, except the extension that a cluster has for credential plugins."""

    name: str
    extension: Any = None


class ExecVariable(Struct, frozen=True):
    """A variable of a plugin's environment."""

    name: str
    value: str = ""


class ExecConfig(Struct, rename="camel", frozen=True):
    """A credential plugin."""

    command: str = ""
    api_version: str = ""
    args: tuple[str, ...] = ()
    env: tuple[ExecVariable, ...] = ()
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class KubeconfigCluster(Struct, rename="kebab", frozen=True):
    """An API server."""

    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: str = ""
    disable_compression: bool = False
    """No effect: moorage never asks for compressed answers."""
    extensions: tuple[NamedExtension, ...] = ()

    @property
    def uses_tls(self) -> bool:
        """Whether the server's address has the scheme HTTPS."""
        return self.server.lower().startswith("https://")

    @property
    def address(self) -> str:
        """The address without trailing slash, query and fragment. The default scheme is HTTP, as in kubectl."""
        address = self.server if "://" in self.server else f"http://{self.server}"
        return address.partition("#")[0].partition("?")[0].rstrip("/")


class KubeconfigUser(Struct, rename="kebab", frozen=True):
    """A user's credentials."""

    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = field(name="tokenFile", default="")
    as_: str = field(name="as", default="")
    as_uid: str = ""
    as_groups: tuple[str, ...] = ()
    as_user_extra: dict[str, tuple[str, ...]] = {}
    username: str = ""
    password: str = ""
    auth_provider: dict[str, Any] | None = None
    exec: ExecConfig | None = None
    extensions: tuple[NamedExtension, ...] = ()

    @property
    def has_certificate(self) -> bool:
        """Whether a client certificate is set."""
        return bool(self.client_certificate or self.client_certificate_data)

    @property
    def runs_plugin(self) -> bool:
        """Whether the plugin is used. As in client-go, it is used only if no other credential is set."""
        return self.exec is not None and not self._has_other_credentials

    @property
    def has_credentials(self) -> bool:
        """Whether any credential is set."""
        return self.exec is not None or self.password != "" or self._has_other_credentials

    @property
    def _has_other_credentials(self) -> bool:
        return bool(self.token or self.token_file or self.username or self.has_certificate)


class KubeconfigContext(Struct, frozen=True):
    """A cluster and a user."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""
    """The default namespace of commands such as `moorage why`."""
    extensions: tuple[NamedExtension, ...] = ()


class NamedCluster(Struct, frozen=True):
    """An item of `clusters`."""

    name: str
    cluster: KubeconfigCluster = KubeconfigCluster()


class NamedUser(Struct, frozen=True):
    """An item of `users`."""

    name: str
    user: KubeconfigUser = KubeconfigUser()


class NamedContext(Struct, frozen=True):
    """An item of `contexts`."""

    name: str
    context: KubeconfigContext = KubeconfigContext()


class Kubeconfig(Struct, rename="kebab", frozen=True):
    """The content of one file."""

    clusters: tuple[NamedCluster, ...] = ()
    users: tuple[NamedUser, ...] = ()
    contexts: tuple[NamedContext, ...] = ()
    current_context: str = ""


@dataclass(frozen=True, slots=True)
class KubeconfigEntry(Generic[T]):
    """A cluster, a user or a context, with its file and its place in the file."""

    value: T
    where: str
    """The place in the file, such as `users[admin].user`."""
    file: Path

    def field(self, name: str) -> str:
        """Return a field's name for messages."""
        return f"{self.where}.{name} of the kubeconfig {self.file}"

    def path(self, name: str) -> str:
        """Return the path of a file that the entry names. A relative name is relative to the kubeconfig's folder."""
        # Absolute, because a command without a slash is searched on $PATH.
        return str(self.file.absolute().parent / name)


@dataclass(frozen=True, slots=True)
class ChosenContext:
    """The cluster and the user of one context."""

    name: str
    cluster: KubeconfigEntry[KubeconfigCluster]
    user: KubeconfigEntry[KubeconfigUser]
    namespace: str = ""
    """The default namespace of commands."""

    @property
    def runs_plugin(self) -> bool:
        """Whether the credentials come from a plugin."""
        return self.user.value.runs_plugin


def choose_context(files: Sequence[tuple[Path, Kubeconfig]], context: str | None) -> ChosenContext:
    """Return the named context, or the current one; raise CredentialsError if a part of it is missing.

    If several files have an entry of the same name, the entry of the first file is used, as in kubectl. If several
    files set the current context, the value of the first file is used.
    """
    shown = ", ".join(str(file) for file, _ in files)
    name = context or next((content.current_context for _, content in files if content.current_context), "")
    if not name:
        raise CredentialsError(f"the kubeconfig {shown} has no current-context; set it, or name a context")
    contexts = _entries("context", ((file, one.name, one.context) for file, all_ in files for one in all_.contexts))
    clusters = _entries("cluster", ((file, one.name, one.cluster) for file, all_ in files for one in all_.clusters))
    users = _entries("user", ((file, one.name, one.user) for file, all_ in files for one in all_.users))
    chosen = contexts.get(name)
    if chosen is None:
        raise CredentialsError(f"the kubeconfig {shown} has no context {name!r}; it has {_names(contexts)}")
    cluster = clusters.get(chosen.value.cluster)
    if cluster is None:
        raise CredentialsError(
            f"{chosen.field('cluster')} names {chosen.value.cluster!r}, but the clusters are {_names(clusters)}"
        )
    anonymous = KubeconfigEntry(KubeconfigUser(), "users[].user", chosen.file)
    user = users.get(chosen.value.user) if chosen.value.user else anonymous
    if user is None:
        raise CredentialsError(f"{chosen.field('user')} names {chosen.value.user!r}, but the users are {_names(users)}")
    return ChosenContext(name, cluster, user, chosen.value.namespace)


def _entries(kind: str, found: Iterable[tuple[Path, str, T]]) -> Mapping[str, KubeconfigEntry[T]]:
    entries: dict[str, KubeconfigEntry[T]] = {}
    for file, name, value in found:
        entry = KubeconfigEntry(value, f"{kind}s[{name}].{kind}", file)
        if entries.setdefault(name, entry).file == file and entries[name] is not entry:
            raise CredentialsError(f"{kind}s of the kubeconfig {file} has {name!r} twice; remove one")
    return entries


def _names(entries: Mapping[str, object]) -> str:
    return ", ".join(map(repr, entries)) or "none"
