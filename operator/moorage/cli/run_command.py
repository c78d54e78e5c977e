"""`moorage run`: the command that starts the operator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from moorage.cli.options import (
    AllowDefaultOption,
    ConfigOption,
    ContextOption,
    ForbidCanariesOption,
    KubeconfigOption,
    PolicyExtendersOption,
    PolicyExtenderTlsDirOption,
    ReservedNamesOption,
    extender_hosts,
    record_bytes,
    split_values,
)


def run(  # noqa: PLR0913 - one parameter for each flag
    *,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    tls_strict: Annotated[
        bool,
        typer.Option(
            "--tls-strict",
            help="Check certificates of the API server and of extenders strictly by RFC 5280. Authorities without key "
            "identifiers, as on EKS, fail this check.",
        ),
    ] = False,
    config: ConfigOption = None,
    bind_address: Annotated[
        str, typer.Option(help="Serve /healthz, /metrics and the other endpoints on this address.")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            min=0, max=65535, help="Serve the endpoints on this port. 0 means a free port, which the log shows."
        ),
    ] = 10259,
    serve_plain_http: Annotated[
        bool, typer.Option("--serve-plain-http", help="Serve plain HTTP even if the address is not loopback.")
    ] = False,
    tls_cert_file: Annotated[
        Path | None, typer.Option(help="Serve with this certificate. Default: a self-signed one.")
    ] = None,
    tls_private_key_file: Annotated[Path | None, typer.Option(help="Read the certificate's key from here.")] = None,
    allow_default_scheduler: AllowDefaultOption = False,
    reserved_scheduler_names: ReservedNamesOption = None,
    forbid_canaries: ForbidCanariesOption = False,
    policy_extenders: PolicyExtendersOption = None,
    policy_extender_tls_dir: PolicyExtenderTlsDirOption = None,
    leader_elect: Annotated[
        bool, typer.Option(help="Bind only while holding the Lease, so that several replicas can run.")
    ] = True,
    record: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            file_okay=False,
            help="Record the inputs and the decisions of the engine to files in this directory, for `moorage replay`.",
        ),
    ] = None,
    record_on_request: Annotated[
        bool,
        typer.Option("--record-on-request", help="Record only between POST and DELETE requests to /debug/recording."),
    ] = False,
    record_size: Annotated[
        str, typer.Option(metavar="SIZE", help="Keep at most this much; delete the oldest recorded files.")
    ] = "1Gi",
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
        tls_strict=tls_strict,
        bind_address=bind_address,
        port=port,
        serve_plain_http=serve_plain_http,
        tls_cert_file=tls_cert_file,
        tls_private_key_file=tls_private_key_file,
        allow_default_scheduler=allow_default_scheduler,
        reserved_scheduler_names=split_values(reserved_scheduler_names),
        forbid_canaries=forbid_canaries,
        policy_extenders=extender_hosts(policy_extenders),
        policy_extender_tls_dir=policy_extender_tls_dir.absolute() if policy_extender_tls_dir else None,
        record=record.absolute() if record else None,
        record_on_request=record_on_request,
        record_bytes=record_bytes(record_size),
        seed=seed,
        leader_election=LeaderElectionSettings(enabled=leader_elect),
    )
    raise typer.Exit(run_operator(load_process_configuration(flags, config), log_level, log_format))
