"""The bench suite; see ../README.md."""
