"""`moorage demo`: runs the examples on an embedded API server, and checks where their pods run."""
