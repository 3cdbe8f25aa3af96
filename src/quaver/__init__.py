"""Quaver measures how far the labels that a language model gives to texts can be trusted."""
