"""Seeds: derived by name, the same everywhere."""

from quaver.core.seeds import derive


def test_a_seed_is_the_same_on_every_machine():
    # BLAKE2b-64 of "1\x1fsample", halved: worked out with the b2sum command.
    assert derive(1, "sample") == 0xA94F7E49A689EF5B >> 1
    assert all(0 <= derive(root, "a") < 2**63 for root in (-1, 0, 2**70))


def test_other_names_and_roots_give_other_seeds():
    seeds = {
        derive(root, *names) for root in range(50) for names in ((), ("a",), ("b",), ("a", "b"), ("ab",))
    }
    assert len(seeds) == 250
