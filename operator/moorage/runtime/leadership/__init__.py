"""Leader election: the Lease that decides which replica may write, and the fence on writes."""
