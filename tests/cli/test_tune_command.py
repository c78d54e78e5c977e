"""`moorage tune`: the policies that it finds, and its errors."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.command_line import Ended, Run
from moorage.api.v1alpha1 import parse_policy

pytestmark = pytest.mark.slow
pytest.importorskip("optuna", reason="Optuna is not installed (the extra tune)")

NODES = "name,cpu_milli,memory_mib,gpu,model\n" + "".join(f"n{number},8000,16384,4,T4\n" for number in range(4))
TASKS = "name,cpu_milli,memory_mib,gpu\n" + "".join(
    f"small{number},1000,1024,1\n" for number in range(8)
) + "large1,1000,1024,4\nlarge2,1000,1024,4\n"  # fmt: skip
"""The large tasks fit only if the small tasks are packed on two of the four nodes."""
TRACE = "name,cpu_milli,memory_mib,gpu,created_s,duration_s\nt1,1000,1024,1,0,10\n"


Tune = Callable[..., Ended]


def command(folder: Path, *arguments: str, jobs: int = 1, **files: str) -> list[str]:
    """Write the files, and return the arguments of the command."""
    contents = {"nodes.csv": NODES, "tasks.csv": TASKS}
    contents |= {name.replace("_", "."): content for name, content in files.items()}
    for name, content in contents.items():
        (folder / name).write_text(content, encoding="utf-8")
    inputs = [f"--nodes={folder / 'nodes.csv'}", f"--arrivals={folder / 'tasks.csv'}"]
    return ["tune", *inputs, f"--jobs={jobs}", "--check-seeds=1", *arguments]


@pytest.fixture
def tune(moorage: Run, tmp_path: Path) -> Callable[..., Ended]:
    """Return a function that runs the command in this process."""
    return lambda *arguments, **fields: moorage(*command(tmp_path, *arguments, **fields))


def found(done: Ended) -> dict[str, Any]:
    assert done.status == 0, done.err
    result: dict[str, Any] = json.loads(done.out)
    return result


def test_a_tuned_policy_is_better_than_the_default_and_is_written(tune: Tune, tmp_path: Path) -> None:
    check = ("--check-arrivals", str(tmp_path / "tasks.csv"))
    done = tune("--trials", "6", *check, "--directory", str(tmp_path / "found"), "-o", "json")
    result = found(done)
    policies = {each["name"]: each for each in result["policies"]}
    assert (result["objectives"], result["trials"]) == (["unplaced"], 6)
    assert policies["tuned-1"]["searched"] == policies["tuned-1"]["unseen"] == {"unplaced": 0}
    assert policies["Default"]["searched"]["unplaced"] > 0
    written = (tmp_path / "found" / "tuned-1.yaml").read_text(encoding="utf-8")
    assert written.startswith("# Found by moorage tune. not placed: 0 in the search, 0 on unseen seeds and tasks.\n")
    assert parse_policy(yaml.safe_load(written)).metadata.name == "tuned-1"


def test_a_second_run_continues_the_study_of_the_first_run(tune: Tune, tmp_path: Path) -> None:
    study = ("--storage", f"sqlite:///{tmp_path}/study.db", "-o", "json")
    first = found(tune("--trials", "4", *study))
    assert found(tune("--trials", "4", *study)) == first
    assert found(tune("--trials", "6", *study))["trials"] == 6
    refused = tune("--objective", "stranded-cpu", *study)
    assert refused.status == 1
    assert "the study moorage has the objectives unplaced; choose another name with --study" in refused.err


def test_equal_seeds_give_equal_results_with_any_number_of_jobs(tune: Tune) -> None:
    arguments = ("--trials", "20", "--objective", "free-gpus", "--objective", "stranded-cpu", "-o", "json")
    assert found(tune(*arguments)) == found(tune(*arguments)) == found(tune(*arguments, jobs=2))


def test_a_study_of_other_input_is_refused(tune: Tune, tmp_path: Path) -> None:
    study = ("--trials", "1", "--storage", f"sqlite:///{tmp_path}/study.db")
    found(tune(*study, "-o", "json"))
    refused = tune(*study, "--seed", "3", tasks_csv=TASKS + "more,1,1,0\n")
    assert refused.status == 1
    assert "the study moorage was made with another file of tasks, another --seed; choose another" in refused.err


def test_the_pods_of_a_file_arrive_in_another_order_in_the_check(moorage: Run, tmp_path: Path) -> None:
    groups, pods, prices = tmp_path / "groups.yaml", tmp_path / "pods.yaml", tmp_path / "prices.csv"
    groups.write_text(
        "nodeGroups:\n- {name: a, count: 2, instanceType: large, cpu: '4', memory: 8Gi}\n"
        "- {name: b, count: 2, instanceType: small, cpu: '2', memory: 8Gi}\n",
        encoding="utf-8",
    )
    pods.write_text(
        "".join(
            f"---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p{number}}}\n"
            f"spec: {{containers: [{{name: c, image: i, resources: {{requests: {{cpu: {number}00m}}}}}}]}}\n"
            for number in range(1, 7)
        ),
        encoding="utf-8",
    )
    prices.write_text("instance_type,price_per_hour\nlarge,1.0\nsmall,0.25\n", encoding="utf-8")
    inputs = (f"--node-groups={groups}", f"--pods={pods}", f"--prices={prices}", "--objective=cost", "--jobs=1")
    policies = {each["name"]: each for each in found(moorage("tune", *inputs, "--trials=4", "-o", "json"))["policies"]}
    assert policies["tuned-1"]["searched"]["cost"] < policies["Default"]["searched"]["cost"]
    assert policies["tuned-1"]["unseen"].keys() == {"cost"}


def test_a_refused_objective_leaves_no_study_behind(tune: Tune, tmp_path: Path) -> None:
    storage = f"--storage=sqlite:///{tmp_path}/study.db"
    assert tune("--objective=p99", storage).status == 1
    assert found(tune("--objective=unplaced", storage, "--trials=1", "-o", "json"))["trials"] == 1


def test_tasks_that_request_few_gpus_have_a_figure_for_free_gpus(tune: Tune) -> None:
    few = "name,cpu_milli,memory_mib,gpu\nlarge,1000,1024,8\nsmall,1000,1024,1\n"
    done = tune("--objective=free-gpus", "--trials=1", "-o", "json", tasks_csv=few)
    assert found(done)["policies"][0]["searched"] == {"free-gpus": 50.0}


def test_tasks_of_another_kind_are_refused_for_the_check(tune: Tune, tmp_path: Path) -> None:
    done = tune("--objective=free-gpus", f"--check-arrivals={tmp_path}/trace.csv", trace_csv=TRACE)
    assert done.status == 1
    assert "the objective free-gpus needs nodes with GPUs, and arrivals" in done.err


def test_the_pods_of_a_live_cluster_can_be_tuned_for(moorage: Run, kubeconfig: Path) -> None:
    arguments = ("--cluster", "--all-pods", f"--kubeconfig={kubeconfig}", "--jobs=1", "--trials=2", "-o", "json")
    result = found(moorage("tune", *arguments))
    assert result["policies"][0]["searched"]["unplaced"] <= result["policies"][1]["searched"]["unplaced"]


def test_an_error_about_the_storage_hides_its_password(tune: Tune) -> None:
    done = tune("--storage", "postgresql://user:secret@127.0.0.1:1/studies")
    assert done.status == 1
    assert "the storage postgresql://user:***@127.0.0.1:1/studies cannot be used: " in done.err
    assert "secret" not in done.err


def test_the_policy_to_improve_is_judged_too(tune: Tune, tmp_path: Path) -> None:
    base = "apiVersion: scheduling.moorage.dev/v1alpha1\nkind: SchedulingPolicy\nmetadata: {name: p}\n"
    arguments = ("--trials", "1", "--policy", str(tmp_path / "base.yaml"), "-o", "json")
    done = tune(*arguments, base_yaml=f"{base}spec: {{preset: GpuPack}}\n")
    policies = {each["name"]: each for each in found(done)["policies"]}
    assert policies["base"]["searched"] == policies["GpuPack"]["searched"]
    assert not policies["base"]["tuned"]


def test_an_interrupted_search_prints_the_policies_that_it_has_found(tmp_path: Path) -> None:
    database = tmp_path / "study.db"
    options = command(tmp_path, "--trials=100000", f"--storage=sqlite:///{database}", "-o", "json", jobs=2)
    arguments, pipe = [sys.executable, "-m", "moorage", *options], subprocess.PIPE
    with subprocess.Popen(arguments, stdout=pipe, stderr=pipe, text=True) as process:
        wait_for_trials(database, process)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=50)
    assert process.returncode == 0, errors
    assert "warning: the search ended early, after" in errors
    assert json.loads(output)["policies"][0]["name"] == "tuned-1"


def wait_for_trials(database: Path, process: subprocess.Popen[str]) -> None:
    """Wait until three trials of the study have ended."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert process.poll() is None
        if database.exists() and ended_trials(database) >= 3:
            return
        time.sleep(0.1)
    raise AssertionError("the search ended no trials")


def ended_trials(database: Path) -> int:
    with closing(sqlite3.connect(database)) as connection, suppress(sqlite3.OperationalError):
        (count,) = connection.execute("SELECT count(*) FROM trial_values").fetchone()
        return int(count)
    return 0  # The process has not created the tables yet, or is writing to the tables.


def test_the_table_fits_80_columns_and_the_page_has_the_front(tune: Tune, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (the extra plots)")
    objectives = ("--objective", "free-gpus", "--objective", "stranded-cpu")
    done = tune("--trials", "5", *objectives, "--html", str(tmp_path / "page.html"))
    assert done.status == 0, done.err
    lines = done.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "5 trials. Each figure: in the search / on unseen seeds and tasks."
    assert any(line.startswith("GpuPack ") for line in lines)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<h1>moorage tune</h1>" in page
    assert "free GPUs, % and stranded cpu, % of all policies tried" in page
    assert "<script" not in page


def test_many_objectives_have_several_tables_of_80_columns(tune: Tune) -> None:
    names = ("free-gpus", "stranded-cpu", "stranded-gpus", "unplaced")
    done = tune("--trials", "2", *(f"--objective={name}" for name in names))
    assert done.status == 0, done.err
    assert max(map(len, done.out.splitlines())) <= 80
    heads = [line for line in done.out.splitlines() if line.startswith("policy ")]
    assert [head.split("  ")[-1].strip() for head in heads] == ["stranded GPUs, %", "not placed"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--objective", "speed"), "unknown objective 'speed'; use one of unplaced, free-gpus"),
        (("--objective", "cost"), "the objective cost needs --prices"),
        (("--objective", "p99"), "the objective p99 needs a trace"),
        (("--objective", "skew"), "the objective skew needs nodes in zones"),
        (("--storage", "nonsense://x"), "the storage nonsense://x cannot be used: "),
        (("--policy", "DIR/two.yaml"), "two.yaml must hold exactly one SchedulingPolicy"),
        (("--policy", "DIR/wrong.yaml"), "wrong.yaml:4: spec.preset: "),
        (("--check-arrivals", "DIR/gone.csv"), "gone.csv"),
    ],
)
def test_unusable_input_is_refused_with_an_error(
    tune: Tune, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    policy = "apiVersion: scheduling.moorage.dev/v1alpha1\nkind: SchedulingPolicy\nmetadata: {name: p}\n"
    two, wrong = f"{policy}---\n{policy.replace('p}', 'q}')}", f"{policy}spec: {{preset: None}}\n"
    placed = (argument.replace("DIR", str(tmp_path)) for argument in arguments)
    done = tune("--trials", "2", *placed, two_yaml=two, wrong_yaml=wrong)
    assert done.status == 1
    assert message in done.err


def test_a_trace_can_be_tuned_for_the_waiting_time(tune: Tune) -> None:
    done = tune("--trials", "2", "--objective", "p99", "-o", "json", tasks_csv=TRACE)
    assert found(done)["policies"][0]["unseen"] == {"p99": 0}


def test_the_policy_to_improve_keeps_its_other_fields(tune: Tune, tmp_path: Path) -> None:
    base = (
        "apiVersion: scheduling.moorage.dev/v1alpha1\nkind: SchedulingPolicy\nmetadata: {name: p}\n"
        "spec: {weights: {ImageLocality: 0}, filters: {zones: {deny: [z]}}}\n"
    )
    done = tune("--trials", "2", "--policy", str(tmp_path / "base.yaml"), "-o", "json", base_yaml=base)
    spec = found(done)["policies"][0]["spec"]
    assert spec["filters"] == {"zones": {"deny": ["z"]}}
    assert spec["weights"]["ImageLocality"] == 0
