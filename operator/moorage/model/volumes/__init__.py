"""Claims, volumes and storage.k8s.io objects as the scheduler reads them, and how they are decoded."""
