"""Programs that name a library model: where its configuration comes from, what is built, which small ones are tried."""

import importlib.util
import json
import sys

import pytest
import torch
from solar_agent.verifier.limits import environment
from solar_agent.verifier.worker import pretrained
from solar_agent.verifier.worker.faults import Refused

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("transformers") is None, reason="transformers is not installed"
)

LANGUAGE_MODEL = """
import torch
from transformers import AutoConfig, AutoModelForCausalLM

name = "{name}"
settings = AutoConfig.from_pretrained(name)
rows, length = {rows}, {length}


class Model(torch.nn.Module):
    def __init__(self, settings):
        super().__init__()
        self.settings = settings
        self.inner = AutoModelForCausalLM.from_pretrained(name, config=settings)

    def forward(self, ids):
        return self.inner(ids).logits


def get_inputs():
    return [torch.randint(0, settings.vocab_size, (rows, length))]


def get_init_inputs():
    return [settings]
"""
OWN = {
    "model_type": "llama", "hidden_size": 96, "intermediate_size": 160, "num_attention_heads": 12,
    "num_hidden_layers": 6, "num_key_value_heads": 4, "head_dim": 8, "max_position_embeddings": 64, "vocab_size": 300,
    "bos_token_id": 1, "eos_token_id": 2, "tie_word_embeddings": False,
}  # fmt: skip


@pytest.fixture(autouse=True)
def _torchvision():
    """Kept out as in the worker, where nothing has asked for it before; other tests may."""
    before = sys.modules.get("torchvision")
    pretrained.before_import(frozenset({"torch", "transformers"}))
    probes = importlib.import_module("transformers.utils.import_utils")
    probes.is_torchvision_available.cache_clear()
    yield
    if before is None:
        sys.modules.pop("torchvision", None)


@pytest.fixture
def library(program, tmp_path):
    """The library as programs of a folder see it."""
    pretrained.install()
    pretrained.turn(tmp_path, {})
    return importlib.import_module("transformers")


@pytest.fixture
def language_model(program, tmp_path):
    def opened(name, rows=4, length=32):
        file = tmp_path / "model.py"
        file.write_text(LANGUAGE_MODEL.format(name=name, rows=rows, length=length))
        return program(file)

    return opened


@pytest.mark.parametrize(
    ("name", "kind", "count"),
    [
        ("gpt2", "AutoModelForCausalLM", 124_439_808),
        ("openai-community/gpt2", "AutoModelForCausalLM", 124_439_808),
        ("EleutherAI/gpt-neo-2.7B", "AutoModelForCausalLM", 2_651_307_520),
        ("facebook/opt-1.3b", "AutoModelForCausalLM", 1_315_758_080),
        ("facebook/bart-large", "AutoModel", 406_291_456),
        ("facebook/bart-large", "AutoModelForCausalLM", 254_084_096),
        ("google/electra-small-discriminator", "AutoModelForPreTraining", 13_549_057),
        ("google/electra-small-discriminator", "AutoModelForCausalLM", 13_546_682),
        ("google/bigbird-roberta-base", "AutoModelForCausalLM", 128_111_286),
        ("google/reformer-enwik8", "AutoModelForCausalLM", 149_182_980),
    ],
)
def test_shipped_facts_give_models_of_the_published_size(library, name, kind, count):
    with torch.device("meta"):
        model = getattr(library, kind).from_pretrained(name)
    assert sum(parameter.numel() for parameter in model.parameters()) == count
    assert not model.training and all(parameter.is_meta for parameter in model.parameters())
    assert list(pretrained.notes()) == [
        f'"{name}": configuration shipped with solar-agent (the hub was not asked); weights are random'
    ]


def test_full_size(language_model):
    session = language_model("gpt2", rows=32, length=1000)
    done, _ = session.describe()
    attrs, state = done.bindings.attrs, done.bindings.state
    assert [leaf.shape for leaf in done.leaves] == [(32, 1000, 50257)]
    assert attrs["self.settings.n_head"] == attrs["self.inner.config.n_head"] == attrs["const.settings.n_head"] == 12
    assert state["inner.lm_head.weight"].storage == state["inner.transformer.wte.weight"].storage is not None
    assert (done.domains["ids"].low, done.domains["ids"].high) == (0, 50256)
    assert done.warnings == (
        '"gpt2": configuration shipped with solar-agent (the hub was not asked); weights are random',
    )
    assert json.loads(session.sources["gpt2/config.json"])["n_layer"] == 12


def test_the_configuration_counts_as_source(language_model, tmp_path):
    folder = tmp_path / "own"
    folder.mkdir()
    hashes = set()
    for width in (96, 192):
        (folder / "config.json").write_text(json.dumps({**OWN, "intermediate_size": width}))
        session = language_model("own")
        session.describe()
        hashes.add(session.source_sha256)
    assert len(hashes) == 2


@pytest.mark.parametrize("name", ["EleutherAI/gpt-neo-2.7B", "facebook/opt-1.3b", "google/reformer-enwik8"])
def test_small_configurations(language_model, name):
    session = language_model(name, length=256)
    found = session.assignments()
    settings = [{label.rpartition(".")[2]: value for label, value in item.changes.items()} for item in found]
    layers = [item.get("num_layers", item.get("num_hidden_layers", 12)) for item in settings]
    assert len(found) == 3 and [item.batch_one for item in found] == [False, True, False]
    assert len(set(layers)) > 1 and max(layers) <= 12
    for item, given in zip(found, settings, strict=True):
        width, heads = given["hidden_size"], given.get("num_heads", given.get("num_attention_heads"))
        assert width % heads == 0 and width < 100 and given["vocab_size"] < 100
        assert given["length"] == item.inputs["ids"][1] <= given["max_position_embeddings"]
        done = session.trial(item.changes, 3, "normal", "promoted")
        assert done.leaves[0].shape == (*item.inputs["ids"], given["vocab_size"]) and done.leaves[0].change < 1e-12


def test_sparse_attention_stays_sparse(language_model):
    session = language_model("google/bigbird-roberta-base", rows=1, length=4095)
    found = session.assignments()
    assert [item.batch_one for item in found] == [False, True, False]
    for item in found:
        block = item.changes["config.google/bigbird-roberta-base.block_size"]
        assert item.inputs["ids"][1] > (5 + 2 * 3) * block and item.inputs["ids"][1] % block
        attrs = session.trial(item.changes, 0, "normal", "promoted").bindings.attrs
        assert attrs["self.inner.config.block_size"] == block
        assert attrs["self.inner.bert.attention_type"] == "block_sparse"


def test_a_local_folder_comes_first(language_model, tmp_path):
    folder = tmp_path / "gpt2"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(OWN))
    session = language_model("gpt2")
    done, _ = session.describe()
    assert done.warnings == ('"gpt2": configuration of a local folder (the hub was not asked); weights are random',)
    assert done.bindings.state["inner.model.layers.5.self_attn.k_proj.weight"].shape == (32, 96)
    for item in session.assignments():
        heads, pairs = (item.changes[f"config.gpt2.num_{kind}_heads"] for kind in ("attention", "key_value"))
        assert heads == 2 * pairs and session.trial(item.changes, 1, "normal", "promoted").leaves


def test_then_the_cache(language_model, tmp_path, monkeypatch):
    snapshot = tmp_path / "hub" / "models--somebody--tiny" / "snapshots" / "0f"
    snapshot.mkdir(parents=True)
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs" / "main").write_text("0f")
    (snapshot / "config.json").write_text(json.dumps(OWN))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    done, _ = language_model("somebody/tiny").describe()
    assert done.warnings[0].startswith('"somebody/tiny": configuration from the local Hugging Face cache')


def test_a_name_that_is_nowhere(language_model):
    with pytest.raises(Refused, match=r'"nobody/nothing": no configuration on this machine .* "hf download') as caught:
        language_model("nobody/nothing").describe()
    assert caught.value.kind == "bad_input" and "\n" not in str(caught.value)


def test_code_from_the_hub_is_not_run(language_model, tmp_path):
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "odd", "auto_map": {"AutoConfig": "odd.Config"}}))
    with pytest.raises(Refused, match="needs code from the hub"):
        language_model("own").describe()


def test_options_of_loading(library, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(OWN))
    options = {"device_map": "cuda", "low_cpu_mem_usage": True, "token": "x", "num_hidden_layers": 1}
    with torch.device("meta"):
        model = library.LlamaModel.from_pretrained(".", dtype="bfloat16", attn_implementation="eager", **options)
    assert len(model.layers) == 1 and model.dtype == torch.bfloat16 and model.config._attn_implementation == "eager"
    config, rest = library.AutoConfig.from_pretrained(".", vocab_size=7, odd=1, return_unused_kwargs=True)
    assert (config.vocab_size, rest) == (7, {"odd": 1}) and library.LlamaConfig.from_pretrained(".").vocab_size == 300
    with pytest.raises(Refused, match="cannot be quantised"):
        library.LlamaModel.from_pretrained(".", quantization_config={"bits": 4})


def test_a_configuration_written_in_the_file(program, tmp_path):
    text = LANGUAGE_MODEL.replace("AutoConfig", "GPT2Config").replace(
        "GPT2Config.from_pretrained(name)", "GPT2Config(n_embd=48, n_head=4, n_layer=3, vocab_size=120, n_positions=64)"
    )
    file = tmp_path / "own.py"
    text = text.replace(".from_pretrained(name, config=settings)", ".from_config(settings)")
    file.write_text(text.format(name="x", rows=2, length=20))
    session = program(file)
    done, _ = session.describe()
    assert done.warnings == () and done.bindings.attrs["self.inner.config.n_layer"] == 3
    assert len(session.assignments()) >= 3


def test_a_broken_torchvision_is_kept_out(monkeypatch):
    monkeypatch.delitem(sys.modules, "torchvision", raising=False)
    pretrained.before_import(frozenset({"torch", "transformers"}))
    assert sys.modules["torchvision"] is None


def test_the_worker_is_told_of_the_cache_only(tmp_path, monkeypatch):
    (tmp_path / "hf" / "hub").mkdir(parents=True)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_TOKEN", "secret")
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    given = environment(tmp_path)
    assert given["HF_HUB_CACHE"] == str(tmp_path / "hf" / "hub") and given["HF_HUB_OFFLINE"] == "1"
    assert not {"HF_HOME", "HF_TOKEN"} & given.keys()
