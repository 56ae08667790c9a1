"""Work items that finished long ago are removed."""
