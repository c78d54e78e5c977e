"""HTTP: parses requests, and encodes the answers of `operations`. Only this package knows aiohttp's requests."""
