"""ConversionSpec: its fields, their rules, and the differences that verification allows."""
