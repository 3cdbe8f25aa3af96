# A stand-in for your model: it needs to be told that a charge is billing even where something broke, and like
# real models it answers some tickets differently each time that it is asked.
import random
from collections import Counter

ASKED = Counter()


def annotate(text, prompt):
    dice = random.Random(text)
    if dice.random() < 0.06:
        return "I am not sure."
    ASKED[text] += 1
    if dice.random() < 0.12 and random.Random(f"{prompt}{text}{ASKED[text]}").random() < 0.5:
        return dice.choice(["bug", "billing", "question"])
    if "charged" in text or "refund" in text:
        return "bug" if "failed" in text and "money" not in prompt else "billing"
    return "question" if "?" in text else "bug"
