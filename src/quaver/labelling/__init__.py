"""Labels written back into the file that the texts came from."""
