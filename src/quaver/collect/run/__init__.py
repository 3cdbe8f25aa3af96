"""Collecting: the runner and its writer, the budget, the journal and the ledger."""
