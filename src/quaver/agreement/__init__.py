"""Coefficients of agreement over items × raters: Krippendorff's alpha, the kappas, percent agreement."""
