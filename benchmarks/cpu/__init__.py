"""What the CPU decodes and encodes, beside other libraries; one script a claim."""
