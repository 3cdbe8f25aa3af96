"""The finding that items come in groups, in words."""

from quaver.core.records import Estimate
from quaver.report.findings.clusters import cluster_line, clusters


def test_an_interval_for_other_prompts_is_named_in_words() -> None:
    again = {
        "measure": "accuracy",
        "cell": {"model": "m", "estimand": "population"},
        "estimand": "population",
        "scope": "for prompts like these 5",
        "value": 0.66,
        "now": (0.58, 0.73),
        "grouped": (0.53, 0.77),
    }
    details = {"effect": 4.0, "quantity": "accuracy", "groups": 15, "clustered": True, "again": [again]}
    like = Estimate("item_clusters", 0.33, 0.2, 0.6, n=150, cell={"column": "author"}, details=details)
    said = cluster_line(clusters([like])[0])
    assert "accuracy (model m), for prompts like these 5, 66% [58% to 73%] becomes [53% to 77%]" in said
    assert "estimand" not in said
