"""How fast a model or a plan is, and how much memory it takes."""
