"""The report's charts: estimates become rows, and four forms draw them."""
