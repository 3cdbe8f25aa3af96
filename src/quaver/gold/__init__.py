"""Gold labels by design: items drawn with known probabilities, sheets for coders, labels that come back."""
