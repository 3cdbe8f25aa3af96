"""What a study is opened from: a study file, a bundle, imported labels or answers; and its folder."""
