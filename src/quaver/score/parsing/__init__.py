"""What evaluators share: label forms, statuses, readings, and the protocol of an evaluator."""
