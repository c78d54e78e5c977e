"""Terms that match placed pods, and the number of matching pods on each node."""
