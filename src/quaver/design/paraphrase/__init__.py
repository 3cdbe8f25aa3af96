"""Paraphrases of the instruction: the engines that make them and the checks of their meaning."""
