"""How every measure is certified: simulated studies whose truth is known, over a grid of populations."""
