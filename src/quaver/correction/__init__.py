"""Estimates that hold although labels are wrong: a designed sample of gold labels corrects all the others."""
