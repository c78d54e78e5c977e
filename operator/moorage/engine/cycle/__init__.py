"""The scheduling cycle: PreFilter, Filter, Score and the choice of a node."""
