"""Which nodes TF-TRT takes into engines, which it leaves out, and why."""
