"""The real Snakefile, run on a study that takes seconds: what is made, what is made again, and what stops it."""
