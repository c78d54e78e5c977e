"""Records of decisions: why a pod is on its node, or why it waits. `DecisionLog` keeps records of the last attempts."""
