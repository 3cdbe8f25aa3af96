"""Two studies, or two conditions of one, on the same items: differences, bounds and the items behind them."""
