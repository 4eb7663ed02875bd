"""How fast the study is beside what else could be used: `python benchmarks/run.py`. docs/performance.md has a table."""
