"""Finished matches outside of a hub: reading and exporting their logs."""
