"""What every measure rests on: cells of annotations, resampling, intervals, and checks of columns."""
