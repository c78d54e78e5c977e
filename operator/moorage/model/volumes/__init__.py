"""Storage objects: the digested structs, and how they are decoded from API objects."""
