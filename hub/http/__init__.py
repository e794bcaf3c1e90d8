"""Plain HTTP: pages, API, static files."""
