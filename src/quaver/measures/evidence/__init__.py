"""What a verdict rests on: estimates of counted answers, model by model."""
