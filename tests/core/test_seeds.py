"""Seeds: derived by name, the same everywhere."""

from hypothesis import given
from hypothesis import strategies as st

from quaver.core.seeds import derive


@given(st.integers(), st.lists(st.text(max_size=5), max_size=3))
def test_a_seed_follows_from_root_and_names(root, names):
    assert derive(root, *names) == derive(root, *names)
    assert 0 <= derive(root, *names) < 2**63


def test_other_names_and_roots_give_other_seeds():
    seeds = {
        derive(root, *names) for root in range(50) for names in ((), ("a",), ("b",), ("a", "b"), ("ab",))
    }
    assert len(seeds) == 250


def test_a_seed_is_the_same_on_every_machine():
    # BLAKE2b-64 of "1\x1fsample", halved: worked out with the b2sum command.
    assert derive(1, "sample") == 0xA94F7E49A689EF5B >> 1
