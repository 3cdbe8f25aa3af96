"""Labels that exist already, made into a study or measured at once."""
