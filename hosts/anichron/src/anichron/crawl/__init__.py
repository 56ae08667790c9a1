"""From one storage config's folder to its assets."""
