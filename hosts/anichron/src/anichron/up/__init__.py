"""All of Anichron on one machine, from one command."""
