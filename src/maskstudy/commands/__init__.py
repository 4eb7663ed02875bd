"""The edges: each module is one verb of `maskstudy`, one rule of the workflow; files and settings in, files out."""
