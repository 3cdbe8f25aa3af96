"""Paraphrases of the instruction: the engines that make them, and checks of their meaning."""
