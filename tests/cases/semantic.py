"""Cases in which a change applies and is wrong all the same, and those that look so."""

from __future__ import annotations

from tests.builders import numbered
from tests.cases.engine import ATTENTION, BODY, ENGINE, OPS, engine
from tests.cases.scene import Found, Scene, case


def attention(*pairs: tuple[bytes, bytes]) -> dict[str, bytes | None]:
    """The engine's attention with texts replaced, each of which it must hold."""
    text = ATTENTION
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    return {"engine/attention.py": text}


@case("s01-fake-impl-missing-arg", "FLAG")
def _(scene: Scene) -> Found:
    after = attention((b"    scale=None,\n)", b"    scale=None,\n    positions=None,\n)"))
    found = scene.carry(ENGINE, after, ENGINE)
    return found.says("custom op `attend`", "takes 6, the fake 5", "`positions` missing")


@case("s03-import-absent-module-level", "FLAG")
def _(scene: Scene) -> Found:
    main = engine(ops=OPS + b"\n\ndef fused(a, b):\n    return concat(a, b)\n")
    first = b"from engine.reg"
    after = attention(
        (first, b"from engine.ops import fused\n" + first), (BODY, b"    fused(q, kv)\n")
    )
    found = scene.carry(main, after, ENGINE)
    return found.says("engine/attention.py:1:1:", "`engine.ops` does not define `fused`")


BASE = "class Impl:\n    def forward(self, q, output):\n        raise NotImplementedError\n"
LAYER = """\
class Layer:
    def __init__(self, impl):
        self.impl = impl

    def forward(self, q, output, positions):
        self.impl.forward(q, output)
        return output
"""


def _impl(name: str, more: str = "") -> str:
    head = f"from engine.backends.base import Impl\n\n\nclass {name}(Impl):\n"
    return f"{head}    def forward(self, q, output{more}):\n        output[:] = q\n"


@case("s05-kwarg-not-accepted-by-impl", "FLAG")
def _(scene: Scene) -> Found:
    before = {"engine/backends/__init__.py": b""} | engine(
        backends__base=BASE.encode(),
        backends__aiter=_impl("AiterImpl").encode(),
        backends__triton=_impl("TritonImpl", ", **kwargs").encode(),
        backends__cpu=_impl("CPUImpl").encode(),
        layer=LAYER.encode(),
    )
    wider = ", positions=None"
    after = {
        "engine/backends/base.py": BASE.replace("output)", f"output{wider})").encode(),
        "engine/backends/aiter.py": _impl("AiterImpl", wider).encode(),
        "engine/layer.py": LAYER.replace(
            "(q, output)", "(q, output, positions=positions)"
        ).encode(),
    }
    found = scene.carry(before, after, before)
    return found.says("`CPUImpl.forward` does not take `positions`").never(
        "TritonImpl.forward` does"
    )


ONLY = b"\n\nMAIN_ONLY = True\n"
IMPORT = b"from engine.reg import direct_register_custom_op\n"


def _dropping(scene: Scene, what: bytes, use: bytes, evidence: str) -> Found:
    """A change of two hunks, the first of which a manifest leaves out."""
    main = engine(attention=ATTENTION.replace(IMPORT, IMPORT + ONLY))
    after = main["engine/attention.py"].replace(ONLY, ONLY + what).replace(BODY, use)
    scene.release(ENGINE)
    scene.stack(scene.change(main, {"engine/attention.py": after}, "-U1"))
    first = scene.apply().says("the target has no line 'MAIN_ONLY = True'")
    assert first.word == "CONFLICT"
    shown = scene.shell("show", "stack", *scene.words[2:]).out.splitlines()
    hunk = next(line.split()[0] for line in shown if line.startswith("stack/p1:"))
    reason = "its surroundings do not exist here"
    scene.manifest(f'[[drop]]\nhunk = "{hunk}"\nreason = "{reason}"\nwhen = {{ {evidence} }}\n')
    return scene.apply().says(f"dropped {hunk}: {reason}")


ABSENT = 'absent = "engine/attention.py::MAIN_ONLY"'


@case("s07-dropped-hunk-defines-symbol", "FLAG")
def _(scene: Scene) -> Found:
    use = b"    c, s = _COS_SIN\n" + BODY
    return _dropping(scene, b"_COS_SIN = (1.0, 0.0)\n", use, ABSENT).says(
        "`_COS_SIN`", "engine/att"
    )


@case("s08-dropped-hunk-benign-control", "APPLY")
def _(scene: Scene) -> Found:
    use = b"    # the fused path\n" + BODY
    return _dropping(scene, b"assert MAIN_ONLY  # for the type checker\n", use, ABSENT)


def _forward(name: str) -> str:
    middle = "".join(f"    y = {step}_{name}(y)\n" for step in ("rotate", "cast"))
    return f"def {name}_forward(y):\n    y = scale(y)\n{middle}    y = clip(y)\n    return y\n\n\n"


@case("s10-wrong-function-by-fuzz", "CONFLICT")
def _(scene: Scene) -> Found:
    head = "from math import *\n\n\n"
    main = {"m.py": (head + _forward("dense") + _forward("sparse")).encode()}
    line = b"    y = cast_sparse(y)\n"
    after = {"m.py": main["m.py"].replace(line, line + b"    y = fused(y)\n")}
    release = {"m.py": (head + _forward("dense") + "def other(x):\n    return x\n").encode()}
    return scene.carry(main, after, release).says("the target has no line 'y = rotate_sparse(y)'")


HELPER = b"\n\ndef expand(s):\n    return s.split(',')\n"
TAIL = b"\n\ndef tail(a):\n    return a[-1]\n"


@case("s11-applied-twice-duplicate-def", "FLAG")
def _(scene: Scene) -> Found:
    main, after = engine(ops=OPS + TAIL), {"engine/ops.py": OPS + TAIL + HELPER}
    found = scene.carry(main, after, engine(ops=OPS + HELPER + TAIL))
    return found.says("expand is defined 2 times now")


@case("s13-env-flag-not-registered", "FLAG")
def _(scene: Scene) -> Found:
    gate = (
        b"    if scale is not None and envs.ENGINE_USE_FUSED:\n        q = [a * scale for a in q]\n"
    )
    after = attention((IMPORT, b"import engine.envs as envs\n" + IMPORT), (BODY, gate + BODY))
    found = scene.carry(ENGINE, after, ENGINE)
    return found.says(
        "engine/attention.py:12:", "`ENGINE_USE_FUSED` is not registered in `engine.envs`"
    )


@case("s14-test-needs-absent-fixture", "FLAG")
def _(scene: Scene) -> Found:
    fixture = b"import pytest\n\n\n@pytest.fixture\ndef default_cfg():\n    return {}\n"
    main = {**ENGINE, "tests/conftest.py": fixture, "tests/helpers.py": b"def make(n): return n\n"}
    test = b"def test_it(default_cfg):\n    from tests.helpers import make\n\n    assert make(2)\n"
    release = {**ENGINE, "tests/conftest.py": b""}
    found = scene.carry(main, {"tests/test_it.py": test}, release)
    return found.says("default_cfg", "tests.helpers")


@case("s15-parity-tests-all-skipped", "FLAG")
def _(scene: Scene) -> Found:
    test = b'import pytest\n\naiter = pytest.importorskip("aiter")\n\n\n'
    test += b"def test_parity():\n    assert aiter\n"
    found = scene.carry(ENGINE, {"tests/test_parity.py": test}, ENGINE)
    (passed,) = [line for line in found.text.splitlines() if line.startswith("  passed: ")]
    assert "parity" not in passed
    return found.says("parity: not run (no applied stack names a parity case)").called("FLAG")


DECORATED = b"""\
def traced(f):
    return f


@traced
@traced
def attend(q):
    return q
"""
COS = b"def cos_sin():\n    return (1.0, 0.0)\n\n\n"


@case("s16-reanchor-above-decorators", "APPLY")
def _(scene: Scene) -> Found:
    prepare = b"def prepare(x):\n    return x\n\n\n"
    main = {"m.py": b"def helper(x):\n    return x\n\n\n" + prepare + DECORATED}
    scene.release({"m.py": DECORATED})
    scene.stack(scene.change(main, {"m.py": main["m.py"].replace(prepare, COS + prepare)}))
    assert scene.apply().word == "CONFLICT"
    shown = scene.shell("show", "stack", *scene.words[2:]).out.splitlines()
    hunk = next(line.split()[0] for line in shown if line.startswith("stack/p1:"))
    scene.manifest(
        f'[[reanchor]]\nhunk = "{hunk}"\nput = "before attend"\nreason = "no prepare to stand at"\n'
        'when = { absent = "m.py::prepare" }\n'
    )
    want = {"m.py": DECORATED.replace(b"@traced\n@traced", COS + b"@traced\n@traced")}
    return scene.apply(want=want).says(f"reanchored {hunk}", "no prepare to stand at")


@case("s17-branch-has-more-uses", "FLAG")
def _(scene: Scene) -> Found:
    head = "class L:\n    def __init__(self):\n        self.scale = 2\n\n"
    forward = "    def forward(self, x):\n        return x * self.scale\n\n"
    others = "    def a(self):\n        return 1\n\n    def b(self):\n        return 2\n"
    main = {"layer.py": (head + forward + others).encode()}
    after = {"layer.py": main["layer.py"].replace(b"self.scale", b"self._scale")}
    old = "\n    def old(self, x):\n        return x + self.scale\n"
    dump = b"from layer import L\n\n\ndef dump(l: L):\n    return l.scale\n"
    release = {"layer.py": main["layer.py"] + old.encode(), "dump.py": dump}
    found = scene.carry(main, after, release)
    return found.says("dump.py:5:12:", "layer.py:15:", "`L` has no attribute `scale`")


@case("s21-op-registered-in-two-modules", "FLAG")
def _(scene: Scene) -> Found:
    op = b"def quant8(x, scale):\n    return x\n\n\n"
    call = b'direct_register_custom_op("quant8", quant8, fake_impl=quant8)\n'
    main = {**ENGINE, "engine/quant/__init__.py": b"", "engine/quant/ops.py": b""}
    after = {"engine/quant/ops.py": IMPORT + b"\n\n" + op + call}
    release = {**main, "engine/ops.py": IMPORT + b"\n\n" + OPS + b"\n\n" + op + call}
    found = scene.carry(main, after, release)
    return found.says("`quant8` is registered in `engine/ops.py` and in `engine/quant/ops.py`")


@case("s22-syntax-newer-than-branch-minimum", "FLAG")
def _(scene: Scene) -> Found:
    project = b'[project]\nname = "engine"\nrequires-python = ">=3.10,<3.15"\n'
    before = {"pyproject.toml": project, "m.py": b"def f(g):\n    return g()\n"}
    group = b"def f(g):\n    try:\n        return g()\n    except* ValueError:\n        pass\n"
    found = scene.carry(before, {"m.py": group, "n.py": b"import tomllib\n"}, before)
    return found.says("m.py:5:", "Python 3.11", "tomllib")


@case("s24-file-moved-on-main", "CONFLICT")
def _(scene: Scene) -> Found:
    text = numbered(1, 20, "x = ").encode() + b"\n\ndef pick(n):\n    return n\n"
    main = {"engine/v1/selector.py": text}
    after = {"engine/v1/selector.py": text.replace(b"return n", b"return n or 1")}
    found = scene.carry(main, after, {"engine/selector.py": text, "other/selector.txt": b""})
    return found.says("the target has no engine/v1/selector.py; is it engine/selector.py?")


@case("s25-partly-upstream", "CONFLICT")
def _(scene: Scene) -> Found:
    texts = {f"{name}.txt": numbered(1, 12, name).encode() for name in "abc"}
    after = {name: text.replace(b" 6\n", b" 66\n") for name, text in texts.items()}
    found = scene.carry(texts, after, {**texts, "b.txt": after["b.txt"]})
    return found.says(
        "(2 exact, 1 already)", "b.txt: the file has this content [already]", "[[drop]]"
    )
