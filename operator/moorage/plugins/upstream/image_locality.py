"""ImageLocality: prefers nodes that already have the pod's images. Large images on many nodes count most.

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
"""The largest sum of image sizes that scores 0 (upstream minThreshold)."""
MAX_BYTES_PER_CONTAINER = 1000 * MEBIBYTE
"""The sum of image sizes, for each container, that scores the maximum (upstream maxContainerThreshold)."""


class ImageLocality(ScorePlugin[None]):
    """Scores a node by the sizes of the pod's images on the node, weighted by the share of nodes with each image."""

    has_static_score = True

    def score(self, state: None, pod: Pod, nodes: Snapshot) -> IntArray:
        """Scale the weighted sum of image sizes to 0..MAX_NODE_SCORE."""
        del state
        cluster, shape = nodes.cluster, pod.shape
        generation = (cluster.generations.nodes, cluster.generations.images)
        return nodes.gather(cluster.memo(self, shape, generation, lambda: _scores(shape, cluster)))


def _scores(shape: PodShape, cluster: Snapshot) -> IntArray:
    max_bytes = MAX_BYTES_PER_CONTAINER * shape.container_count
    clipped = np.clip(_weighted_bytes(shape, cluster), MIN_BYTES, max_bytes)
    scores: IntArray = MAX_NODE_SCORE * (clipped - MIN_BYTES) // (max_bytes - MIN_BYTES)
    return scores


def _weighted_bytes(shape: PodShape, cluster: Snapshot) -> IntArray:
    total = np.zeros(cluster.size, dtype=np.int64)
    for name in shape.images:
        image = cluster.image(name)
        if image is not None:
            # The order of the float operations and the truncation match upstream to the byte.
            total += int(image.size_bytes * (image.node_count / cluster.total_nodes)) * image.present
    return total
