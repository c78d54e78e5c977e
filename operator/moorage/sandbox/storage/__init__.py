"""Objects in their versions: written as kube-apiserver's registry does, listed, watched, deleted."""
