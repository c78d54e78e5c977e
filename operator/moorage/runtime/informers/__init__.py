"""Lists and watches the objects that the scheduler works with."""
