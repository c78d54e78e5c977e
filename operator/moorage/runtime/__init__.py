"""The shell around the engine: everything that waits, talks to the network or looks at a clock.

Here live the REST client, the informers, the scheduling loop, the binder, the recorders, leader election, metrics and
the HTTP endpoints. What happens in the cluster is posted to the inbox; scheduling state itself is touched by the loop
alone. Decisions do not belong here, they are the engine's.
"""
