"""Prints alpha with Jaccard and with MASI distance of the tables of ``test_set_distance.py``, by nltk 3.10.4.

Run by hand in an environment of its own, which has ``nltk``; the project does not depend on it::

    python tests/agreement/nltk_values.py
"""

import random


def set_table(seed):
    """Items × coders: sets that coders change now and then, some missing."""
    draw, rows = random.Random(seed), []
    labels = list("abcdef")[: 3 + seed]
    for _ in range(12 + 4 * seed):
        base = {label for label in labels if draw.random() < 0.4}
        row = []
        for _ in range(2 + seed % 3):
            own = set(base)
            for label in labels:
                if draw.random() < 0.15:
                    own ^= {label}
            own = own or {labels[0]}
            row.append(";".join(sorted(own)) if draw.random() > 0.1 else None)
        rows.append(row)
    return rows


def main():
    from nltk.metrics.agreement import AnnotationTask
    from nltk.metrics.distance import jaccard_distance, masi_distance

    for seed in range(5):
        table = [
            (f"coder {coder}", item, frozenset(labels.split(";")))
            for item, row in enumerate(set_table(seed))
            for coder, labels in enumerate(row)
            if labels is not None
        ]
        print(
            tuple(AnnotationTask(table, distance).alpha() for distance in (jaccard_distance, masi_distance))
        )


if __name__ == "__main__":
    main()
