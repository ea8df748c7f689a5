"""The JSON Schema for editors: current, and of one mind with the models."""

import json
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from memhub import InvalidConfig
from memhub_config import load_config
from memhub_config.schema import json_schema

SCHEMA = Draft202012Validator(json_schema())
COMMITTED = Path(__file__).parent.parent / "docs" / "memhub.schema.json"

VALID = [
    "stores: {a: {in_memory: }}",
    "stores: {a: {in_memory: {}, timeout: 10s, retry: {attempts: 4, max_delay: 8}}}",
    "stores: {a: {sqlite: {path: x.db, durability: normal, busy_timeout: 500ms}, kind: memory}}",
    "stores: {a: {sqlite: {path: '${P:-x}', durability: '${D:-full}', busy_timeout: '${T:-3}'}, timeout: }}",
    "stores: {a: {in_memory: , requires: [as_of, '${C:-keyword}'], retry: {attempts: '${N:-2}'}}}",
    "stores: {a: {mem0: {api_key: '${K:-k}', flavor: platform, poll_interval: 1s}}}",
    "{embedders: {h: {hash: }}, stores: {a: {mem0: {flavor: embedded, path: x, embedder: h}}}}",
    "stores: {a: {volc_memory: {mem0: {endpoint: 'https://x'}, api_key: k, region: cn-beijing}}}",
    "{embedders: , stores: {a: {in_memory: }}}",
    "{embedders: {}, stores: {a: {in_memory: }}}",
    "{embedders: {h: {hash: }}, stores: {a: {qdrant: {path: x, embedder: h}}}}",
    "{embedders: {h: {hash: {dimensions: 64}}}, stores: {a: {qdrant: {url: 'http://localhost:6333'}}}}",
]
INVALID = [
    "{}",
    "stores: {a: {mem0: {flavor: cloud, api_key: k}}}",
    "stores: {a: {mem0: {api_key: k, llm: {model: m}}}}",
    "stores: {a: {volc_memory: {api_key: k}}}",
    "stores: {a: {volc_memory: {mem0: {endpoint: x}, api_key: k}}}",
    "stores: {}",
    "stores: {a: {}}",
    "stores: {a: }",
    "stores: {a: {in_memory: , sqlite: {path: x}}}",
    "stores: {a: {sqlite: {}}}",
    "stores: {a: {sqlite: }}",
    "stores: {a: {sqlite: {path: x, pth: y}}}",
    "stores: {a: {sqlite: {path: x, durability: fast}}}",
    "stores: {a: {in_memory: , timeout: soon}}",
    "stores: {a: {in_memory: , timeout: 0}}",
    "stores: {a: {in_memory: , retry: {attempts: 0}}}",
    "stores: {a: {in_memory: , retry: 3}}",
    "stores: {a: {in_memory: , requires: [psychic]}}",
    "stores: {a: {in_memory: , user_id: x}}",
    "{embedders: {x: {}}, stores: {a: {in_memory: }}}",
    "{embedders: {x: {hsh: {}}}, stores: {a: {in_memory: }}}",
    "{embedders: {x: {hash: {}, openai: {}}}, stores: {a: {in_memory: }}}",
    "{embedders: {x: {openai: {model: m, dimensions: 3}}}, stores: {a: {in_memory: }}}",
    "stores: {a: {qdrant: {path: x, collection: a/b}}}",
    "stores: {a: {qdrant: {url: 'ftp://x'}}}",
    "{stores: {a: {in_memory: }}, more: 1}",
]


def test_it_is_a_schema():
    Draft202012Validator.check_schema(json_schema())


def test_the_committed_one_is_current():
    expected = json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"
    assert COMMITTED.read_text(encoding="utf-8") == expected, "memhub schema > docs/memhub.schema.json"


@pytest.mark.parametrize("text", VALID)
def test_what_loads_is_valid(text):
    source = yaml.safe_load(text)
    assert load_config(source, environ={}).stores
    SCHEMA.validate(source)


@pytest.mark.parametrize("text", INVALID)
def test_what_does_not_load_is_invalid(text):
    source = yaml.safe_load(text)
    with pytest.raises(InvalidConfig):
        load_config(source, environ={})
    assert not SCHEMA.is_valid(source)
