"""Small configurations: the relations of the full one are kept. No library is needed for that."""

import pytest
from solar_agent.verifier.worker.configs import changed, numbers
from solar_agent.verifier.worker.miniature import STYLES, miniatures

DECODER = {
    "hidden_size": 96, "intermediate_size": 384, "num_attention_heads": 12, "num_key_value_heads": 4, "head_dim": 8,
    "num_hidden_layers": 6, "vocab_size": 1000, "pad_token_id": 90, "max_position_embeddings": 512,
    "layer_types": ["near", "far", "far"] * 2, "window": 128, "dropout": 0, "use_cache": True,
}  # fmt: skip


def small(full, lengths=None, style="primes"):
    """The three small configurations, whole, with the lengths beside them."""
    lengths = lengths or {}
    plans = miniatures({"m": full}, lengths, style)
    return [
        (changed(full, full, "m", plan), {key: plan.get(key, value) for key, value in lengths.items()})
        for plan in plans
    ]


@pytest.mark.parametrize("style", STYLES)
def test_heads_and_widths(style):
    for made, _ in small(DECODER, style=style):
        heads, pairs, each = made["num_attention_heads"], made["num_key_value_heads"], made["head_dim"]
        assert heads % pairs == 0 and heads > pairs and made["hidden_size"] == heads * each
        assert made["vocab_size"] > 91 and made["use_cache"] is True and made["dropout"] == 0
        if style == "ratio":
            assert made["intermediate_size"] == 4 * made["hidden_size"]


def test_independent_numbers_are_distinct():
    made = [made for made, _ in small(DECODER)]
    for name in ("hidden_size", "intermediate_size", "vocab_size", "num_hidden_layers"):
        assert len({item[name] for item in made}) >= (2 if name == "num_hidden_layers" else 3), name
    for item in made:
        sizes = [item[name] for name in ("hidden_size", "intermediate_size", "vocab_size", "head_dim")]
        assert len(set(sizes)) == len(sizes)


def test_lists_follow_the_number_of_layers():
    for made, _ in small(DECODER):
        assert made["num_hidden_layers"] % 3 == 0
        assert made["layer_types"] == ["near", "far", "far"] * (made["num_hidden_layers"] // 3)
    mixed = {"num_layers": 32, "attention_types": [[["global", "local"], 16]]}
    assert [made["attention_types"] for made, _ in small(mixed)] == [
        [[["global", "local"], 2]], [[["global", "local"], 1]], [[["global", "local"], 3]],
    ]  # fmt: skip


@pytest.mark.parametrize("length", [32, 100, 128, 300, 511, 512])
def test_lengths_keep_order_and_divisibility(length):
    for variant, (made, lengths) in enumerate(small(DECODER, {"length": length})):
        before = (length, DECODER["window"], DECODER["max_position_embeddings"])
        after = (lengths["length"], made["window"], made["max_position_embeddings"])
        tied = variant == 1 and length == 128
        for a in range(3):
            for b in range(3):
                assert before[a] >= before[b] or after[a] < after[b]
                if before[a] % before[b] == 0 and not tied:
                    assert after[a] % after[b] == 0, (before, after)
        if length % 128:
            assert after[0] % after[1]


def test_large_ratios_are_cut():
    full = {"block_size": 64, "max_position_embeddings": 4096}
    for made, lengths in small(full, {"n": 4095}):
        assert lengths["n"] > 11 * made["block_size"] and made["max_position_embeddings"] >= lengths["n"]
        assert made["max_position_embeddings"] < 200


def test_sums_and_products_of_lists():
    full = {
        "hidden_size": 1024, "num_attention_heads": 8, "axial_pos_embds_dim": [256, 768], "axial_pos_shape": [128, 512],
        "max_position_embeddings": 65536, "local_chunk_length": 128, "far_chunk_length": 256,
    }  # fmt: skip
    for made, lengths in small(full, {"n": 256}):
        assert sum(made["axial_pos_embds_dim"]) == made["hidden_size"] and min(made["axial_pos_embds_dim"]) > 0
        assert made["axial_pos_shape"][0] * made["axial_pos_shape"][1] == made["max_position_embeddings"]
        assert lengths["n"] == made["far_chunk_length"] == 2 * made["local_chunk_length"]


def test_inner_configurations_and_numbers_not_written_down():
    full = {"text_config": {"hidden_size": 64, "num_attention_heads": 4}, "num_hidden_layers": 4}
    labels = {number.label: number.role for number in numbers("a/b", full)}
    assert labels == {
        "config.a/b.text_config.hidden_size": "width",
        "config.a/b.text_config.num_attention_heads": "heads",
        "config.a/b.num_hidden_layers": "layers",
    }
    made = changed({}, full, "a/b", {"config.a/b.text_config.hidden_size": 6, "config.a/b.num_hidden_layers": 2})
    assert made == {"text_config": {"hidden_size": 6, "num_attention_heads": 4}, "num_hidden_layers": 2}
    assert full["text_config"]["hidden_size"] == 64
