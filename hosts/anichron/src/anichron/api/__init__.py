"""The API process: what people and other programs ask of Anichron."""
