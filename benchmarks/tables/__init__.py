"""Shows the results: tables in the pages, and plots."""
