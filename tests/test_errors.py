"""The tree of errors is what its file says at the top."""

import pickle

import pytest

import memhub
from memhub import HubError, RateLimited, Unavailable, errors
from memhub.errors import NativeError


def subtree(kind: type[HubError], depth: int = 0) -> list[tuple[int, str]]:
    found = [(depth, kind.__name__)]
    for child in kind.__subclasses__():
        # An adapter may know a finer kind of its own; the tree is of what callers catch.
        if child.__module__ == errors.__name__:
            found += subtree(child, depth + 1)
    return found


def drawn() -> list[tuple[int, str]]:
    lines = errors.__doc__.splitlines()[2:]
    names = [line.lstrip("│├└─ ").split()[0] for line in lines if line.strip()]
    depths = [
        next(n for n, letter in enumerate(line) if letter.isalpha()) // 4 for line in lines if line.strip()
    ]
    return list(zip(depths, names, strict=True))


def test_the_tree_in_the_docstring_is_the_tree_of_classes() -> None:
    assert drawn() == subtree(HubError)


def test_every_error_is_public_and_has_a_code_of_its_own() -> None:
    kinds = [getattr(memhub, name) for _, name in drawn()]
    assert len({kind.code for kind in kinds}) == len(kinds)


def test_the_text_says_where_and_what() -> None:
    assert str(Unavailable("no answer")) == "no answer"
    assert str(Unavailable("no answer", store="notes")) == "notes: no answer"
    assert str(Unavailable("no answer", store="notes", operation="get")) == "notes.get: no answer"


def test_an_error_travels_between_processes_whole() -> None:
    error = RateLimited(
        "slow down", provider="p", store="s", operation="get", retryable=True, retry_after=2.5
    )
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), vars(copy), str(copy)) == (RateLimited, vars(error), str(error))


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        ({}, "ReadTimeout"),
        ({"status": 503, "code": None, "request": "r-1"}, "ReadTimeout (status=503, request=r-1)"),
    ],
)
def test_a_stand_in_keeps_what_is_harmless(facts: dict[str, object], text: str) -> None:
    assert str(NativeError("ReadTimeout", **facts)) == text
