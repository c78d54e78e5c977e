"""Services, controllers, Namespaces and PodDisruptionBudgets, and how they are decoded."""
