"""An embedded Kubernetes API server with simulated nodes, for the demo, tests and laptops.

What lives here speaks the API server's side of the wire on loopback only. `store` holds objects and their history,
`writes` and its neighbours do what kube-apiserver's registries do, `server` puts them on HTTP, `kubelet` and `nodes`
simulate the machines. Nothing here knows how moorage schedules.
"""
