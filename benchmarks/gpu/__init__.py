"""What NVDEC decodes, beside other libraries."""
