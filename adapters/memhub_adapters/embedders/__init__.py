"""Embedders: text to vectors. Each is imported from its own module, so that none loads another's parts."""
