"""Collecting: the driver and its writer, the budget, the journal and the ledger."""
