"""`moorage simulate` as a process: its output, and its errors about files that it cannot use."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.command_line import Run
from docs.shell_blocks import ROOT, blocks, commands

NODES = "name,cpu_milli,memory_mib,gpu,model\na,8000,16384,2,T4\nb,8000,16384,2,T4\n"
ARRIVALS = (
    "name,cpu_milli,memory_mib,gpu,gpu_models,asked_percent\n"
    "t1,1000,1024,1,,25\nt2,1000,1024,1,,50\nt3,1000,1024,2,,100\nt4,1000,1024,1,P100,125\n"
)
PACK = """\
apiVersion: scheduling.moorage.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: pack}
spec: {preset: GpuPack}
"""


def simulate(folder: Path, *arguments: str, **files: str) -> subprocess.CompletedProcess[str]:
    contents = {"nodes.csv": NODES, "arrivals.csv": ARRIVALS, "pack.yaml": PACK}
    contents |= {name.replace("_", "."): content for name, content in files.items()}
    for name, content in contents.items():
        (folder / name).write_text(content, encoding="utf-8")
    command = [sys.executable, "-m", "moorage", "simulate", "--nodes", "nodes.csv", "--arrivals", "arrivals.csv"]
    return subprocess.run([*command, *arguments], cwd=folder, capture_output=True, text=True, check=False)


def simulated(folder: Path, *arguments: str, **files: str) -> dict[str, Any]:
    done = simulate(folder, *arguments, "-o", "json", **files)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return {policy["name"]: policy for policy in result["policies"]}


def test_the_json_compares_policies_with_kube_scheduler(tmp_path: Path) -> None:
    policies = simulated(tmp_path, "--policy", "pack.yaml")
    assert list(policies) == ["kube-scheduler", "pack"]
    assert policies["kube-scheduler"]["placed"] == 2  # it spreads t1 and t2, so that t3 fits nowhere
    assert policies["pack"]["placed"] == 3
    assert policies["pack"]["unplaced"] == 1
    assert policies["pack"]["allocated"]["nvidia.com/gpu"] == {
        "80": 100.0,
        "90": 100.0,
        "100": 100.0,
        "110": 100.0,
        "120": 100.0,
    }
    assert policies["kube-scheduler"]["allocated"]["nvidia.com/gpu"]["100"] == 50.0


def test_processes_give_the_same_results_as_one_process(tmp_path: Path) -> None:
    assert simulated(tmp_path, "--policy", "pack.yaml", "--jobs", "2") == simulated(
        tmp_path, "--policy", "pack.yaml", "--jobs", "1"
    )


def test_the_table_fits_80_columns(tmp_path: Path) -> None:
    done = simulate(tmp_path, "--policy", "pack.yaml")
    assert done.returncode == 0
    assert "kube-scheduler" in done.stdout
    assert "Insufficient nvidia.com/gpu" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"nodes_csv": ""}, "error: nodes.csv:1: the file has no header"),
        ({"arrivals_csv": ARRIVALS + "t1,1,1,0,,130\n"}, "error: arrivals.csv:6: the name 't1' is repeated; line 2"),
        (
            {"arrivals_csv": ARRIVALS + "t9,1,1,0.5,,130\n"},
            "error: arrivals.csv:6: gpu must be a whole number, not 0.5",
        ),
        ({"pack_yaml": "kind: Pod\n"}, "error: pack.yaml:1: kind: must be SchedulingPolicy or KubeSchedulerConfig"),
        ({"pack_yaml": PACK + "---\n" + PACK}, "error: pack.yaml: the name 'pack' is taken by pack.yaml; rename"),
    ],
)
def test_faults_name_the_file_and_the_line(tmp_path: Path, files: dict[str, str], message: str) -> None:
    done = simulate(tmp_path, "--policy", "pack.yaml", **files)
    assert done.returncode == 1
    assert message in done.stderr
    assert done.stdout == ""


def test_all_policies_that_do_not_compile_are_named(tmp_path: Path) -> None:
    wrong = PACK.replace("GpuPack", "Pakc") + "---\n" + PACK.replace("pack", "other").replace("preset", "preest")
    done = simulate(tmp_path, "--policy", "pack.yaml", pack_yaml=wrong)
    assert done.returncode == 1
    assert "pack.yaml:4: spec.preset: " in done.stderr
    assert "pack.yaml:9: spec.preest: " in done.stderr


def test_control_characters_in_names_do_not_reach_the_terminal(tmp_path: Path) -> None:
    done = simulate(tmp_path, "--policy", "pack.yaml", pack_yaml=PACK.replace("name: pack", r'name: "\e[31mpack"'))
    assert "pack" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    done = simulate(tmp_path, "--policy", "absent.yaml")
    assert done.returncode == 1
    assert "absent.yaml" in done.stderr


def test_the_faults_of_all_files_are_printed(tmp_path: Path) -> None:
    files = {"pack_yaml": "kind: Pod\n", "nodes_csv": NODES + "c,1,1,-1,\n", "arrivals_csv": ARRIVALS + ",1,1,1,,130\n"}
    done = simulate(tmp_path, "--policy", "pack.yaml", "--prices", "absent.csv", **files)
    assert [line.partition(": ")[2].partition(":")[0] for line in done.stderr.splitlines()] == [
        "pack.yaml",
        "nodes.csv",
        "arrivals.csv",
    ]


def test_the_page_is_written_after_the_results(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (the extra plots)")
    done = simulate(tmp_path, "--html", "absent/page.html")
    assert done.returncode == 1
    assert "kube-scheduler" in done.stdout
    assert "error: absent/page.html: No such file or directory" in done.stderr
    done = simulate(tmp_path, "--html", "page.html")
    assert done.returncode == 0
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_the_page_about_simulations_shows_the_real_output() -> None:
    page = "docs/simulate.md"
    command = next(iter(commands(page, "moorage")))
    done = subprocess.run(
        [sys.executable, "-m", "moorage", *command], cwd=ROOT, capture_output=True, text=True, check=True
    )
    (shown,) = [block.text for block in blocks(page) if "gpu-balance" in block.text and block.language == "text"]
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    assert shown.splitlines() == lines[: len(shown.splitlines())]


def test_a_live_cluster_and_its_dump_give_the_same_placements(moorage: Run, kubeconfig: Path, tmp_path: Path) -> None:
    file = tmp_path / "cluster.gz"
    assert moorage("dump", "-o", file, "--kubeconfig", kubeconfig).status == 0
    of_dump = moorage("simulate", "--dump", file, "--all-pods", "-o", "json")
    of_cluster = moorage("simulate", "--cluster", "--kubeconfig", kubeconfig, "--all-pods", "-o", "json")
    assert (of_dump.status, of_cluster.status) == (0, 0)
    assert json.loads(of_cluster.out) == json.loads(of_dump.out)
    assert json.loads(of_dump.out)["policies"][0]["placed"] > 0
