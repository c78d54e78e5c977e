"""Task files. The error for a wrong file names the file and the line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.errors import InvalidInput
from moorage.simulator.input_faults import MAX_FAULTS
from moorage.simulator.task_file import TaskFile, Template
from moorage.simulator.text_lines import MAX_LINE_BYTES
from simulator.sim_files import write

TRACE = "name,cpu_milli,memory_mib,gpu,created_s,deleted_s"


def faults(folder: Path, content: str | bytes) -> list[str]:
    path = write(folder, "tasks.csv", content)
    with pytest.raises(InvalidInput) as refused:
        TaskFile(path).check()
    return [str(fault).removeprefix(f"{folder}/") for fault in refused.value.faults]


def test_a_file_is_a_trace_if_it_has_the_column_created_s(tmp_path: Path) -> None:
    arrivals = TaskFile(write(tmp_path, "a.csv", "name,cpu_milli,memory_mib\nx,1,2\ny,1,2\n")).check()
    assert (arrivals.count, arrivals.is_trace, arrivals.last) == (2, False, 2.0)
    assert arrivals.templates == ((Template(1, 2), 2),)
    trace = TaskFile(write(tmp_path, "t.csv", f"{TRACE}\nx,1,2,0,5,9.5\ny,1,2,0,6,\n")).check()
    assert (trace.is_trace, trace.first, trace.last) == (True, 5.0, 9.5)


def test_a_file_that_a_spreadsheet_wrote_is_read(tmp_path: Path) -> None:
    content = '\ufeffname,cpu_milli,memory_mib,gpu_models\r\n"x, 1",1.0,2,"T4|G2"\r\n\r\n'
    (task,) = TaskFile(write(tmp_path, "a.csv", content)).tasks()
    assert task.name == "x, 1"
    assert task.template == Template(1, 2, 0, "T4|G2")


def test_a_file_may_have_an_object_in_each_line(tmp_path: Path) -> None:
    first_line = '{"name": "x", "cpu_milli": 1.0, "memory_mib": 2, "priority": null}'
    last_line = '{"memory_mib": 2, "cpu_milli": 1, "name": "y"}'
    first, second = TaskFile(write(tmp_path, "a.jsonl", f"{first_line}\n\n{last_line}\n")).tasks()
    assert (first.name, second.name) == ("x", "y")
    assert first.template == second.template == Template(1, 2)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("x,1,2,0.5,1,2", "gpu must be a whole number, not 0.5; Kubernetes has whole GPUs: write 1 for a shared GPU"),
        ("x,1,2,-1,1,2", "gpu must not be below 0, but it is -1"),
        ("x,1,2,,1,2", "gpu is empty"),
        ("x,one,2,0,1,2", "cpu_milli must be a whole number, not 'one'"),
        ("x,1,9999999999999,0,1,2", "memory_mib must be at most 1000000000000, but it is 9999999999999"),
        ("x,1,2,0,7,3", "deleted_s 3 is before created_s 7"),
        ("x,1,2,0,nan,3", "created_s must be a finite number, not nan"),
        ("x,1,2,0,,3", "created_s is empty"),
        ("x,1,2,0,3", "the row has 5 cells, but the header has 6"),
        (",1,2,0,1,2", "name is empty"),
    ],
)
def test_a_wrong_cell_is_named(tmp_path: Path, row: str, message: str) -> None:
    assert faults(tmp_path, f"{TRACE}\nok,1,2,0,0,1\n{row}\n") == [f"tasks.csv:3: {message}"]


def test_a_negative_duration_is_refused(tmp_path: Path) -> None:
    content = "name,cpu_milli,memory_mib,created_s,duration_s\nx,1,2,0,-5\n"
    assert faults(tmp_path, content) == ["tasks.csv:2: duration_s must not be below 0, but it is -5"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "tasks.csv:1: the file has no header; its first line must name the columns: name, cpu_milli"),
        ("name,cpu_milli,memory_mib\n", "tasks.csv: the file has no tasks"),
        (
            "name,cpu_milli,memory_mib,prioritty\n",
            "the unknown column 'prioritty'; remove or rename it: did you mean pri",
        ),
        (
            "name,cpu_milli,memory_mib,x\n",
            "the header has the unknown column 'x'; remove or rename it: the columns are",
        ),
        ("name,cpu_milli\n", "tasks.csv:1: the header has no column memory_mib"),
        ("name,name,cpu_milli,memory_mib\n", "tasks.csv:1: the header names the column name twice"),
        ("name,cpu_milli,memory_mib,duration_s\n", "tasks.csv:1: the column duration_s needs the column created_s"),
        (f"{TRACE},duration_s\n", "tasks.csv:1: the header has both deleted_s and duration_s"),
        ('"name"x,cpu_milli\n', "tasks.csv:1: the line is not valid CSV"),
        ("\n", "tasks.csv:1: the file has no header"),
        ('{"name": "x"}\n', "tasks.csv:1: the header has no column cpu_milli"),
        ('{"name": "x", "cpu_milli": 1, "memory_mib": 1}\n{"name": \n', "tasks.csv:2: the line is not valid JSON"),
        ('{"name": "x", "cpu_milli": 1, "memory_mib": 1}\n[]\n', "tasks.csv:2: the line must be an object"),
        ('{"name": "x", "cpu_milli": 1, "memory_mib": [1]}\n', "tasks.csv:1: the line must be an object"),
        (
            '{"name": "x", "cpu_milli": 1, "memory_mib": 1}\n{"gpus": 1}\n',
            "tasks.csv:2: the object has the unknown colu",
        ),
        (
            '{"name": "x", "cpu_milli": 1, "memory_mib": 1}\n{"gpu": 1}\n',
            "tasks.csv:2: the object has the field gpu, whi",
        ),
        (
            '{"name": "x", "cpu_milli": 1, "memory_mib": true}\n',
            "tasks.csv:1: memory_mib must be a whole number, not 'T",
        ),
        (b"name,cpu_milli,memory_mib\nx,1,2\n\xff,1,2\n", "tasks.csv:3: the line is not UTF-8 (invalid start byte)"),
        ("name,cpu_milli,memory_mib\nx,1,2\0\n", "tasks.csv:2: the line has a zero byte"),
        ('name,cpu_milli,memory_mib\n"x"y,1,2\n', "tasks.csv:2: the line is not valid CSV"),
        (b"x" * (MAX_LINE_BYTES + 1), "tasks.csv:1: the line is longer than"),
        (f"{TRACE}\nx,1,2,0,5,\ny,1,2,0,4,\n", "tasks.csv:3: created_s 4 is before that of the row above; sort"),
        ("name,cpu_milli,memory_mib\nx,1,2\ny,1,2\nx,1,2\n", "tasks.csv:4: the name 'x' is repeated; line 2 has it"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, content: str | bytes, message: str) -> None:
    assert message in faults(tmp_path, content)[0]


def test_all_faults_are_listed_up_to_a_limit(tmp_path: Path) -> None:
    rows = "".join(f"x{number},1,2,-1\n" for number in range(MAX_FAULTS + 5))
    found = faults(tmp_path, f"name,cpu_milli,memory_mib,gpu\n{rows}")
    assert len(found) == MAX_FAULTS + 1
    assert found[-1] == "tasks.csv: 5 more faults"


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="is not a regular file"):
        TaskFile(tmp_path)


HEADERS = (b"", b"name,cpu_milli,memory_mib,gpu\n", b'{"name": "x", "cpu_milli": 1, "memory_mib": 2}\n')


@given(st.sampled_from(HEADERS), st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, header: bytes, content: bytes) -> None:
    path = write(tmp_path_factory.getbasetemp(), "any.csv", header + content)
    try:
        summary = TaskFile(path).check()
    except InvalidInput as error:
        refusal = error
    else:
        assert summary.count == len(list(TaskFile(path).tasks()))
        return
    assert all(str(path) in str(fault) for fault in refusal.faults)
