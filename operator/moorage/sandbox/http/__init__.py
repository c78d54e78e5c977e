"""HTTP: parsing of requests, and encoding of the results of `operations`."""
