"""`python -m maskstudy`, the same as `maskstudy`."""

from maskstudy.cli import main

main()
