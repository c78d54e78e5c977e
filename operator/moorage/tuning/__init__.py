"""Searches policies that do better in a simulation, with Optuna: the search space, the study, and the judgement."""
