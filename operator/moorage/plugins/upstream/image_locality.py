"""ImageLocality: nodes gain by the pod's images that they already have, the more the larger and wider spread these are.

Upstream: pkg/scheduler/framework/plugins/imagelocality/image_locality.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from moorage.framework.extension_points import MAX_NODE_SCORE, ScorePlugin

if TYPE_CHECKING:
    from moorage.cluster.arrays import IntArray
    from moorage.cluster.snapshot import Snapshot
    from moorage.model.pods.pod import Pod, PodShape

MEBIBYTE = 1024 * 1024
MIN_BYTES = 23 * MEBIBYTE
"""Up to this sum of sizes a node gains nothing (upstream minThreshold)."""
MAX_BYTES_PER_CONTAINER = 1000 * MEBIBYTE
"""From this sum of sizes a container it gains all (upstream maxContainerThreshold)."""


class ImageLocality(ScorePlugin[None]):
    """Scores by the sizes of the pod's images on a node, each weighed by the share of nodes that have the image."""

    has_static_score = True

    def score(self, state: None, pod: Pod, nodes: Snapshot) -> IntArray:
        """Map the weighed sum of sizes to 0..MAX_NODE_SCORE."""
        del state
        cluster, shape = nodes.cluster, pod.shape
        generation = (cluster.generations.nodes, cluster.generations.images)
        return nodes.gather(cluster.memo(self, shape, generation, lambda: _scores(shape, cluster)))


def _scores(shape: PodShape, cluster: Snapshot) -> IntArray:
    most = MAX_BYTES_PER_CONTAINER * shape.container_count
    gained = np.clip(_weighed_bytes(shape, cluster), MIN_BYTES, most) - MIN_BYTES
    scores: IntArray = MAX_NODE_SCORE * gained // (most - MIN_BYTES)
    return scores


def _weighed_bytes(shape: PodShape, cluster: Snapshot) -> IntArray:
    total = np.zeros(cluster.size, dtype=np.int64)
    for name in shape.images:
        image = cluster.image(name)
        if image is not None:
            # Floats in this order, then cut off: to the byte what upstream computes.
            total += int(image.size_bytes * (image.node_count / cluster.total_nodes)) * image.present
    return total
