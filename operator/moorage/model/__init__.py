"""API objects, digested once into frozen, slotted structs that the engine reads.

Here live the structs and the code that makes them from JSON; no decision is taken here and nothing is written.
"""
