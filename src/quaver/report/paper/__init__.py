"""What a paper takes from a study: one table, a paragraph on methods, and the references."""
