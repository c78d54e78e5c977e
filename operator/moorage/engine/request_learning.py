"""Starts and stops the counting of requests for the plugins that read them (`moorage.cluster.request_mix`)."""

from collections.abc import Iterable

from moorage.cluster.request_mix import RequestMix
from moorage.framework.profile import Profile
from moorage.model.pods.pod import Pod


def follow_profiles(mix: RequestMix, profiles: Iterable[Profile], pods: Iterable[Pod]) -> None:
    """Let `mix` count the requests of pods while a profile reads it. The count begins with the existing `pods`."""
    is_needed = any(entry.plugin.reads_request_mix for profile in profiles for entry in profile.score)
    if is_needed and not mix.is_learning:
        mix.start(pod.shape for pod in pods)
    elif mix.is_learning and not is_needed:
        mix.stop()
