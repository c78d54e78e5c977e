"""One run of a simulation: the tasks on the nodes, with one policy."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from moorage.framework.cluster_events import added
from moorage.framework.profile import Profile
from moorage.model.decode import Decoder
from moorage.model.pods.pod import Pod
from moorage.simulator.dump_scene import DumpScene, template_of
from moorage.simulator.file_objects import PodTemplates, decode_node
from moorage.simulator.policy_files import NamedProfile
from moorage.simulator.run_measures import RunMeasures
from moorage.simulator.run_result import PolicyResult
from moorage.simulator.simulation_input import Request, SimulationInput
from moorage.simulator.task_file import Task, TaskFile
from moorage.simulator.task_runs import TraceRun, run_arrivals
from moorage.simulator.virtual_cluster import VirtualCluster

Report = Callable[[int], None]
"""Receives the number of tasks that have arrived."""


def run_policy(
    request: Request, content: SimulationInput, profile: NamedProfile, report: Report = lambda _: None
) -> PolicyResult:
    """Run the tasks with one profile."""
    measures = RunMeasures(content.measured)
    if content.scene and not request.has_task_table:
        _run_dump(request, content.scene, measures, profile.profile, report)
    else:
        _run_table(request, content, measures, profile.profile, report)
    return measures.result(profile.name)


def _run_table(
    request: Request, content: SimulationInput, measures: RunMeasures, profile: Profile, report: Report
) -> None:
    decoder, measured, scene = Decoder(), content.measured, content.scene
    templates, file = PodTemplates(decoder, profile.name), TaskFile(request.tasks)
    events = scene.events if scene else (added("Node", decode_node(node, decoder)) for node in measured.nodes)
    staying = _staying(scene) if scene else []
    cluster = VirtualCluster(profile, events, request.seed, may_preempt=measured.tasks.has_priorities)
    if measured.tasks.is_trace:
        TraceRun(cluster, templates, measures, staying).run(file.tasks(), report)
    else:
        pods = ((task, templates.pod(task.name, task.template)) for task in file.tasks())
        run_arrivals(pods, cluster, measures, report, staying)


def _run_dump(request: Request, scene: DumpScene, measures: RunMeasures, profile: Profile, report: Report) -> None:
    cluster = VirtualCluster(profile, scene.events, request.seed)
    arriving = scene.arriving if request.arrival_seed is None else scene.in_another_order(request.arrival_seed)
    pods = ((_task_of(pod), replace(pod, scheduler_name=profile.name)) for pod in arriving)
    run_arrivals(pods, cluster, measures, report, _staying(scene))


def _staying(scene: DumpScene) -> list[tuple[Task, Pod]]:
    return [(_task_of(pod), pod) for pod in scene.staying]


def _task_of(pod: Pod) -> Task:
    return Task(pod.key, template_of(pod))
