# A stand-in for your model: it needs to be told that a charge is billing even where something broke.
import random


def annotate(text, prompt):
    if random.Random(text).random() < 0.06:
        return "I am not sure."
    if "charged" in text or "refund" in text:
        return "bug" if "failed" in text and "money" not in prompt else "billing"
    return "question" if "?" in text else "bug"
