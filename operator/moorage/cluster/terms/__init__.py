"""Terms by which placed pods are counted, and the counts for each node."""
