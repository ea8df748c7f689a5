"""One provider each; an adapter takes ready-made dependencies and closes only what it opened."""
