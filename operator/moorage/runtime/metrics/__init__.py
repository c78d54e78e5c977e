"""The Prometheus metrics of the process."""
