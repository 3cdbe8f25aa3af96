"""Which labels may be accepted: a bound on the share of wrong ones among them, from a gold sample."""
