"""A bound memory, served to other processes: thin over the same calls that a product makes."""
