"""The report's charts: estimates become rows, and five forms draw them."""
