"""Searches for policies with better simulation results, with Optuna: the search space, the study, and the judgement."""
