"""Making room: victims are marked, evicted and watched until they are gone."""
