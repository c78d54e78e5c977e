"""From a request to an answer: discovery, resources, watches, and what `kubectl get` prints."""
