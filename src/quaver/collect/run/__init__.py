"""Calls are made here: the runner, its writer, the budget, the journal and the ledger."""
