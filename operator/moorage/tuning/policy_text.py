"""Writes a tuned policy as YAML, with a comment about its figures."""

from __future__ import annotations

from collections.abc import Sequence

import yaml

from moorage.tuning.judgement import JudgedPolicy
from moorage.tuning.objectives import Objective
from moorage.tuning.search_space import manifest_of


def policy_text(policy: JudgedPolicy, objectives: Sequence[Objective]) -> str:
    """Return the text of a file for `kubectl apply`."""
    figures = "; ".join(
        f"{objective.label}: {searched:g} in the search, {unseen:g} on unseen seeds and tasks"
        for objective, searched, unseen in zip(objectives, policy.searched, policy.unseen, strict=True)
    )
    body = yaml.safe_dump(manifest_of(policy.name, policy.spec), sort_keys=False)
    return f"# Found by moorage tune. {figures}.\n{body}"
