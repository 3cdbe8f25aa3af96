"""The design as it was written down beforehand, and held against what was done."""
