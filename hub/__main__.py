"""Run the command line: `python -m hub`."""

from hub.cli import main

main()
