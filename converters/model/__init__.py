"""Models on disk: which kind a file is, its graph, its signatures, its engines."""
