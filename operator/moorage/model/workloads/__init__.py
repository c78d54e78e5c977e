"""Services, controllers, namespaces and disruption budgets, and how they are decoded."""
