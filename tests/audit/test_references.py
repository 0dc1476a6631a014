"""References: strings that name classes, as registries of lazy imports do."""

from __future__ import annotations

from tests.audit.builders import said

NAMES = ("alpha", "beta", "gamma", "delta", "epsilon")
BASE = {
    "eng/__init__.py": "",
    "eng/models/__init__.py": "",
    "eng/models/registry.py": "MODELS = {\n"
    + "".join(f'    "{n.title()}LM": ("{n}", "{n.title()}LM"),\n' for n in NAMES)
    + "}\n",
} | {f"eng/models/{n}.py": f"class {n.title()}LM:\n    pass\n" for n in NAMES}


def entry(module: str, name: str) -> dict[str, str | None]:
    text = BASE["eng/models/registry.py"].replace("}\n", f'    "X": ("{module}", "{name}"),\n}}\n')
    return {"eng/models/registry.py": text}


def test_a_registry_entry_of_a_module_that_is_absent() -> None:
    assert said(BASE, entry("omega", "OmegaLM")) == [
        "eng/models/registry.py:7 unresolved-reference omega.OmegaLM"
    ]


def test_a_registry_entry_of_a_class_that_is_absent() -> None:
    assert said(BASE, entry("alpha", "OmegaLM")) == [
        "eng/models/registry.py:7 unresolved-reference alpha.OmegaLM"
    ]


def test_a_registry_entry_that_resolves() -> None:
    assert said(BASE, entry("alpha", "AlphaLM")) == []


def test_a_class_that_the_stack_renames_under_the_registry() -> None:
    change = {"eng/models/beta.py": "class BetaForCausalLM:\n    pass\n"}
    assert said(BASE, change) == ["eng/models/registry.py:3 unresolved-reference beta.BetaLM"]


def test_a_dotted_reference() -> None:
    text = 'BACKEND = "eng.models.{}"\n'
    assert said(BASE, {"eng/a.py": text.format("alpha.AlphaLM")}) == []
    assert said(BASE, {"eng/a.py": text.format("alpha:AlphaLM")}) == []
    assert said(BASE, {"eng/a.py": text.format("alpha.OmegaLM")}) == [
        "eng/a.py:1 unresolved-reference eng.models.alpha.OmegaLM"
    ]
    assert said(BASE, {"eng/a.py": text.format("omega.OmegaLM")}) == [
        "eng/a.py:1 unresolved-reference eng.models.omega.OmegaLM"
    ]


def test_strings_that_only_look_like_references() -> None:
    text = 'LOGGER = "eng.models.requests"\nOTHER = "other.project.Class"\nKEY = "eng.X"\n'
    assert said(BASE, {"eng/a.py": text}) == []


def test_pairs_that_are_no_registry() -> None:
    text = 'T = {1: ("a", "B"), 2: ("c", "D"), 3: ("e", "F"), 4: ("g", "H"), 5: ("i", "J")}\n'
    assert said(BASE, {"eng/a.py": text}) == []
