"""What is special about kinds: the table of them, their schemas and rules, pods, custom kinds."""
