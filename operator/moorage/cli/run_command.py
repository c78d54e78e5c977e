"""`moorage run`: the command that starts the operator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from moorage.cli.options import AllowDefaultOption, ConfigOption, KubeconfigOption


def run(  # noqa: PLR0913 - one parameter a flag
    *,
    kubeconfig: KubeconfigOption = None,
    context: Annotated[str | None, typer.Option(help="Use this context of the kubeconfig.")] = None,
    config: ConfigOption = None,
    bind_address: Annotated[
        str, typer.Option(help="Serve /healthz, /metrics and the other endpoints on this address.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Serve them on this port; 0: a free one, shown in the log.")
    ] = 10259,
    serve_plain_http: Annotated[
        bool, typer.Option("--serve-plain-http", help="Serve plain HTTP even if the address is not loopback.")
    ] = False,
    tls_cert_file: Annotated[
        Path | None, typer.Option(help="Serve with this certificate. Default: a self-signed one.")
    ] = None,
    tls_private_key_file: Annotated[Path | None, typer.Option(help="Read the certificate's key from here.")] = None,
    allow_default_scheduler: AllowDefaultOption = False,
    leader_elect: Annotated[
        bool, typer.Option(help="Bind only while holding the Lease, so that several replicas can run.")
    ] = True,
    seed: Annotated[int | None, typer.Option(help="Seed the random choice among equally good nodes.")] = None,
    log_level: Annotated[str, typer.Option(help="Log from this level: debug, info, warning or error.")] = "info",
    log_format: Annotated[str, typer.Option(help="Log as text or json.")] = "text",
) -> None:
    """Run the operator: schedule pods by policies until stopped."""
    from moorage.app import load_process_configuration, run_operator
    from moorage.settings import LeaderElectionSettings, Settings

    flags = Settings(
        kubeconfig=kubeconfig,
        context=context,
        bind_address=bind_address,
        port=port,
        serve_plain_http=serve_plain_http,
        tls_cert_file=tls_cert_file,
        tls_private_key_file=tls_private_key_file,
        allow_default_scheduler=allow_default_scheduler,
        seed=seed,
        leader_election=LeaderElectionSettings(enabled=leader_elect),
    )
    raise typer.Exit(run_operator(load_process_configuration(flags, config), log_level, log_format))
