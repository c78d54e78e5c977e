"""An embedded Kubernetes API server with simulated nodes, for the demo, for tests, and for users without a cluster.

The server listens on loopback only and contains no scheduling code. Each line imports only from the lines below it:

    main, demo            the commands
    api_server            builds and runs everything
    http | simulation     answers HTTP requests; simulates nodes, the kubelet and controllers
    operations            creates, updates, lists, deletes, binds and evicts objects
    patching              computes patched objects
    kinds | storage       the rules of each kind; the stored objects
    api_status, objects, injected_faults, multiline_error, signals
"""
