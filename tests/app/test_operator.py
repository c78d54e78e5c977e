import signal
import subprocess
import sys
import time
from pathlib import Path

KUBECONFIG = """
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
users:
- name: u
  user:
    exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, interactiveMode: Never,
           args: ["-c", "touch PLUGIN; exec sleep 100"]}
"""


def test_a_signal_stops_a_start_that_hangs_in_a_credential_plugin(tmp_path: Path) -> None:
    kubeconfig, begun = tmp_path / "config", tmp_path / "begun"
    kubeconfig.write_text(KUBECONFIG.replace("PLUGIN", str(begun)))
    command = [
        sys.executable,
        "-c",
        "from moorage.cli import main; main()",
        "run",
        "--kubeconfig",
        str(kubeconfig),
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            deadline = time.monotonic() + 60
            while not begun.exists() and time.monotonic() < deadline:
                time.sleep(0.02)
            assert begun.exists()
            process.send_signal(signal.SIGTERM)
            _, told = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0
    assert "Traceback" not in told
