"""fastembed with a model in a local folder. Needs `memhub[fastembed]` and `onnx`, which builds the model."""

import asyncio
import json
from pathlib import Path

import pytest

from memhub import InvalidConfig, Unavailable

pytest.importorskip("fastembed", reason="needs memhub[fastembed]")
onnx = pytest.importorskip("onnx", reason="needs onnx, to build a small model")

from memhub_adapters.embedders.fastembed import FastembedEmbedder  # noqa: E402 - once it can be imported

MODEL = "BAAI/bge-small-en-v1.5"
FILE = "model_optimized.onnx"
SIZE = 384
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "tea", "jasmine", "bicycle", "red"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose vector of a word is a table's row: as large a model as a test needs."""
    place = tmp_path_factory.mktemp("model")
    (place / FILE).write_bytes(model().SerializeToString())
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {word: n for n, word in enumerate(WORDS)},
            "unk_token": "[UNK]",
        },
    }
    (place / "tokenizer.json").write_text(json.dumps(tokenizer))
    (place / "config.json").write_text(json.dumps({"pad_token_id": 0}))
    (place / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 128, "pad_token": "[PAD]"}))
    (place / "special_tokens_map.json").write_text(json.dumps({"pad_token": "[PAD]", "unk_token": "[UNK]"}))
    return place


def model() -> object:
    helper, kinds = onnx.helper, onnx.TensorProto
    table = [float(row == column) for row in range(len(WORDS)) for column in range(SIZE)]
    weights = helper.make_tensor("table", kinds.FLOAT, [len(WORDS), SIZE], table)
    names = ("input_ids", "attention_mask", "token_type_ids")
    inputs = [helper.make_tensor_value_info(name, kinds.INT64, ["batch", "length"]) for name in names]
    output = helper.make_tensor_value_info("last_hidden_state", kinds.FLOAT, ["batch", "length", SIZE])
    rows = helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])
    graph = helper.make_graph([rows], "words", inputs, [output], [weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def test_a_model_of_a_folder_embeds(folder: Path) -> None:
    one = FastembedEmbedder(MODEL, dimensions=SIZE, path=folder, batch=2)
    vectors = asyncio.run(one.embed(["tea", "jasmine", "Tea tea"]))
    assert [len(vector) for vector in vectors] == [SIZE] * 3
    assert vectors[0] == pytest.approx(vectors[2])
    assert vectors[0] != vectors[1]
    assert one.identity == f"fastembed:{MODEL}"


def test_another_size_than_configured_is_refused(folder: Path) -> None:
    one = FastembedEmbedder(MODEL, dimensions=SIZE + 1, path=folder)
    with pytest.raises(InvalidConfig, match=f"{SIZE} dimensions, but dimensions: {SIZE + 1}"):
        asyncio.run(one.embed(["tea"]))


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    one = FastembedEmbedder(MODEL, dimensions=SIZE, path=tmp_path / "absent")
    with pytest.raises(InvalidConfig, match="there is no folder"):
        asyncio.run(one.embed(["tea"]))


def test_a_model_that_cannot_be_read_is_told_without_its_text(tmp_path: Path) -> None:
    one = FastembedEmbedder(MODEL, dimensions=SIZE, path=tmp_path)
    with pytest.raises(Unavailable, match=f"the model {MODEL} failed with"):
        asyncio.run(one.embed(["tea"]))
