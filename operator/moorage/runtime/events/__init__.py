"""Events for users: their content, their series, and the recorder that writes them."""
