"""The code around the engine that waits, uses the network or reads a clock.

It holds the REST client, the informers, the scheduling loop, the binder, the recorders, leader election, metrics and
the HTTP endpoints. Changes in the cluster are posted to the inbox, and only the scheduling loop changes scheduling
state. The runtime must not decide where pods go; the engine does.
"""
