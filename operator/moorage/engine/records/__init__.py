"""Records of decisions: why a pod is on its node, or why it waits. `DecisionLog` keeps those of the last attempts."""
