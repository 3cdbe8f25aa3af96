"""Quaver's own plug-ins are held to their contracts, built as ``tests/recipes.py`` says."""

from tests.recipes import RECIPES

from quaver.testing import recipes

recipes.RECIPES.update(RECIPES)
