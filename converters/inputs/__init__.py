"""Arrays for a model's inputs: the user's data in batches, or random ones."""
