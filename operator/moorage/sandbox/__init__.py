"""An embedded Kubernetes API server with simulated nodes, for the demo, tests and laptops.

It listens on loopback only and knows nothing of how moorage schedules. Each package imports only those below it:

    main, demo            the commands
    api_server            builds and runs everything
    http | simulation     requests over HTTP; nodes, kubelet and controllers
    operations            creates, updates, lists, deletes, binds and evicts objects
    patching              computes patched objects
    kinds | storage       rules of the kinds; versions of objects
    api_status, objects, injected_faults, signals
"""
