"""Counterfactuals: the smallest single changes after which a waiting pod would fit on a node.

Each change is verified by running PreFilter and Filter with the change made. `find_changes` is the way in.
"""
