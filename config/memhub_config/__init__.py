"""The composition root: YAML to models, builds, owns and closes; and the command."""
