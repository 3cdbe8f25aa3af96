"""The experiment made concrete: variants × decodings × models × items as calls with keys and an order."""
