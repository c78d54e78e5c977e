"""What the process answers about itself, and to whom."""
