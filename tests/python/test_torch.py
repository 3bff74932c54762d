"""tapline.torch against torch.nn.functional.conv1d, on the CPU and, where there is one, a GPU; skipped where PyTorch, which is
large, is not installed."""

import concurrent.futures
import doctest
import shutil

import pytest

torch = pytest.importorskip("torch")
from torch.nn.functional import conv1d as theirs  # noqa: E402
from torch.nn.functional import pad  # noqa: E402

import tapline.torch  # noqa: E402

ours = tapline.torch.conv1d
HAS_GPU = torch.cuda.is_available() and tapline.info()["engines"][1]["available"]


@pytest.fixture(params=["cpu", "cuda"] if HAS_GPU else ["cpu"], autouse=True)
def device(request):
    with torch.device(request.param):
        yield request.param


def expected(x, taps, padding):
    k = taps.shape[-1]
    before, after = {"causal": (k - 1, 0), "same": ((k - 1) // 2, k // 2)}.get(padding, (padding, padding))
    return theirs(pad(x, (before, after)), taps[:, None], groups=taps.shape[0])


def drawn(*shape, dtype=torch.float64):
    x = torch.randn(*shape, dtype=torch.float64, device="cpu", generator=torch.Generator("cpu").manual_seed(sum(shape)))
    return x.to(torch.empty(0).device, dtype)


@pytest.mark.parametrize("padding", ["causal", "same", 0, 1, 2, 7])
@pytest.mark.parametrize("k", [1, 2, 4, 5, 20])
@pytest.mark.parametrize("n", [1, 3, 40])
def test_values(n, k, padding):
    x, taps = drawn(2, 3, n), drawn(3, k)
    if isinstance(padding, int) and n + 2 * padding < k:
        with pytest.raises(ValueError, match="leaves no output"):
            ours(x, taps, padding)
        return
    torch.testing.assert_close(ours(x, taps, padding), expected(x, taps, padding))
    torch.testing.assert_close(ours(x[0], taps, padding), expected(x[:1], taps, padding)[0])
    torch.testing.assert_close(ours(x, taps[0], padding), expected(x, taps[:1].repeat(3, 1), padding))


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float16, 4e-3), (torch.bfloat16, 3e-2)])
def test_types(dtype, tolerance):
    x, taps = drawn(2, 3, 50, dtype=dtype), drawn(3, 7, dtype=dtype)
    y = ours(x, taps)
    assert y.dtype == dtype
    torch.testing.assert_close(y.double(), expected(x.double(), taps.double(), "causal"), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("k", [4, 20])
@pytest.mark.parametrize("shape", [(300, 40), (2, 300, 40)])
def test_the_gradient_of_taps_for_all_channels_is_rounded_once(shape, k, dtype):
    x, taps, g = (drawn(*size, dtype=dtype) for size in (shape, (k,), shape))
    g = g.flip(-1)
    results = []  # in dtype, in float64, and sums of the terms' magnitudes
    for change in (torch.clone, torch.Tensor.double, lambda t: t.double().abs()):
        a, b = (change(t).requires_grad_() for t in (x, taps))
        results.append(torch.autograd.grad(ours(a, b), (a, b), change(g)))
    for got, wanted, magnitude in zip(*results, strict=True):
        assert got.dtype == dtype
        error = (got.double() - wanted).abs()
        assert (error <= torch.finfo(dtype).eps / 2 * wanted.abs() + 16 * 2.0**-23 * magnitude).all(), error.max()


def test_strides():
    x = drawn(3, 40, 2).permute(2, 0, 1)[..., ::2]
    taps = drawn(4, 3).T
    torch.testing.assert_close(ours(x, taps), expected(x, taps, "causal"))


@pytest.mark.parametrize("padding", ["causal", "same", 0, 2])
@pytest.mark.parametrize(("n", "k"), [(6, 1), (6, 4), (5, 8), (24, 18)])
def test_gradients(n, k, padding):
    if padding in (0, 2) and n + 2 * padding < k:
        pytest.skip("no output")
    x, taps = drawn(2, 2, n).requires_grad_(), drawn(2, k).requires_grad_()
    assert torch.autograd.gradcheck(lambda a, b: ours(a, b, padding), (x, taps))
    assert torch.autograd.gradgradcheck(lambda a, b: ours(a, b, padding), (x, taps))
    assert torch.autograd.gradgradcheck(lambda a, b: ours(a, b, padding), (x, taps[0].detach().requires_grad_()))


def test_long_filters_and_their_gradients():
    x, taps = drawn(2, 3, 5000), drawn(3, 3000)
    results = []
    for function in (ours, expected):
        a, b = x.clone().requires_grad_(), taps.clone().requires_grad_()
        y = function(a, b, "causal")
        (y * y).sum().backward()
        results.append((y.detach(), a.grad, b.grad))
    for mine, other in zip(*results, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-9, atol=1e-9 * float(other.abs().max()))


def test_the_same_bits_each_time():
    x, taps = drawn(4, 3, 1000).requires_grad_(), drawn(3, 5).requires_grad_()
    first = torch.autograd.grad(ours(x, taps).square().sum(), (x, taps))
    for _ in range(5):
        again = torch.autograd.grad(ours(x, taps).square().sum(), (x, taps))
        assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))


def test_operators_are_registered_well(device):
    x, taps, g = drawn(2, 3, 20).requires_grad_(), drawn(3, 4).requires_grad_(), drawn(2, 3, 20).requires_grad_()
    torch.library.opcheck(torch.ops.tapline.correlate_rows.default, (x, taps, 3, 20))
    torch.library.opcheck(torch.ops.tapline.correlate_rows.default, (x, taps, 1, 19))
    torch.library.opcheck(torch.ops.tapline.dot_rows.default, (x, g, 3, 4))
    torch.library.opcheck(torch.ops.tapline.correlate_rows_gradients.default, (g, x, taps, 3))


# Kernels for 1 to 4 taps and for chunks of 8; rows at 16 bytes and not; a block for several tiles and several blocks for a channel.
@pytest.mark.parametrize("shape", [(2, 3, 64), (1, 1, 1), (3, 2, 5000), (2, 5, 4097), (1, 2, 300_000), (2, 700, 1030), (5, 3, 8)])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 8, 9, 21, 64])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_kernels_of_a_gpu(shape, k, dtype, device):
    if device == "cpu" or (dtype != torch.float32 and k not in (2, 4, 9)):
        pytest.skip("of a GPU, other types with fewer taps")
    x, taps = drawn(*shape, dtype=dtype), drawn(shape[1], k, dtype=dtype)
    for padding in ("causal", "same", k):
        a, b = x.clone().requires_grad_(), taps.clone().requires_grad_()
        y = ours(a, b, padding)
        g = drawn(*y.shape, dtype=dtype).flip(-1)  # not x itself
        y.backward(g)
        wide, magnitudes = [], []  # the same in float64, and sums of the terms' magnitudes
        for function, to in ((lambda t: t, wide), (torch.abs, magnitudes)):
            p, q = (function(t.detach().double()).clone().requires_grad_() for t in (x, taps))
            z = expected(p, q, padding)
            z.backward(function(g.double()))
            to.extend((z.detach(), p.grad, q.grad))
        unit = {torch.float64: 2.0**-52, torch.float32: 2.0**-23, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}[dtype]
        sums = 2.0**-52 if dtype == torch.float64 else 2.0**-23  # storage rounds once, sums have a unit of their own
        for got, wanted, magnitude in zip((y, a.grad, b.grad), wide, magnitudes, strict=True):
            assert got.dtype == dtype
            error = (got.double() - wanted).abs()
            least = torch.finfo(dtype).smallest_normal * unit  # half the distance of numbers too small for a unit
            assert (error <= unit * wanted.abs() + least + 16 * sums * magnitude).all(), (padding, error.max(), magnitude.max())
        again = torch.autograd.grad(ours(a, b, padding), (a, b), g)
        assert torch.equal(again[0], a.grad)
        assert torch.equal(again[1], b.grad)
        only = torch.autograd.grad(ours(x, b, padding), b, g)[0]
        assert torch.equal(only, b.grad)


def test_infinite_samples_stay_in_their_window(device):
    x, taps = torch.ones(1, 1, 4096), torch.ones(1, 4)
    x[0, 0, 2000] = torch.inf
    x[0, 0, 4095] = torch.nan
    a, b = x.clone().requires_grad_(), taps.clone().requires_grad_()
    y = ours(a, b)
    y.backward(torch.ones_like(y))
    finite = torch.isfinite(y[0, 0])
    assert (~finite).nonzero().flatten().tolist() == [2000, 2001, 2002, 2003, 4095]
    assert torch.isfinite(a.grad).all()


def test_tensors_of_a_gpu_are_captured(device):
    if device == "cpu":
        pytest.skip("of a GPU")
    x, taps = drawn(2, 3, 64, dtype=torch.float32), drawn(3, 4, dtype=torch.float32)
    ours(x, taps)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = ours(x, taps)
    x.mul_(2)
    graph.replay()
    torch.testing.assert_close(y, expected(x, taps, "causal"))


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("shared", [False, True])
def test_compile(backend, shared, device):
    if backend == "inductor" and device == "cpu" and shutil.which("g++") is None:
        pytest.skip("needs a C++ compiler")

    def model(a, b):
        return torch.relu(ours(a, b)).sum()

    x, taps = drawn(2, 3, 30).requires_grad_(), (drawn(4) if shared else drawn(3, 4)).requires_grad_()
    wanted = torch.autograd.grad(model(x, taps), (x, taps))
    got = torch.autograd.grad(torch.compile(model, fullgraph=True, backend=backend)(x, taps), (x, taps))
    for a, b in zip(got, wanted, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (([1.0], torch.ones(1)), TypeError, "x: a list"),
        ((torch.ones(2, 5), torch.ones(3, 2)), ValueError, "for 2 channels"),
        ((torch.ones(5), torch.ones(2)), ValueError, "x: 1 axes"),
        ((torch.ones(1, 5), torch.ones(2).double()), TypeError, "convert one"),
        ((torch.ones(1, 5, dtype=torch.int32), torch.ones(2)), TypeError, "int32"),
        ((torch.ones(1, 5), torch.ones(2), "full"), ValueError, "'causal', 'same'"),
        ((torch.ones(1, 5), torch.ones(2), -1), ValueError, "padding: -1"),
        ((torch.ones(1, 0), torch.ones(2)), ValueError, "at least one"),
        ((torch.ones(1, 5, device="meta"), torch.ones(2)), NotImplementedError, "use .cpu"),
        ((torch.ones(1, 5), torch.ones(2, device="meta")), NotImplementedError, "use .cpu"),
    ],
)
def test_errors(arguments, error, words):
    with pytest.raises(error, match=words):
        ours(*arguments)


def test_examples(device):
    if device == "cuda":
        pytest.skip("their tensors are the CPU's")
    test = doctest.DocTestParser().get_doctest(ours.__doc__, {}, "conv1d", None, 0)
    assert doctest.DocTestRunner().run(test).failed == 0


def test_the_short_way_gives_what_the_operators_give(device, monkeypatch):
    """On a GPU: values, gradients, and gradients of these."""
    x, taps = drawn(2, 3, 40), drawn(3, 5)

    def outcome():
        a, h = x.clone().requires_grad_(), taps.clone().requires_grad_()
        y = ours(a, h, "same")
        of_a, of_h = torch.autograd.grad((y**2).sum(), (a, h), create_graph=True)
        again = torch.autograd.grad(of_a.sum() + (of_h**2).sum(), (a, h))
        plain = torch.autograd.grad((ours(a, h) ** 2).sum(), (a, h))
        with torch.no_grad():
            return y, of_a, of_h, *again, *plain, ours(a, h), ours(a.detach(), h), ours(x[0], taps[0])

    wanted = outcome()
    monkeypatch.setattr(tapline.torch, "_is_followed", lambda: False)
    for got, want in zip(outcome(), wanted, strict=True):
        torch.testing.assert_close(got, want)
    only_taps = torch.nn.Parameter(taps)
    ours(x, only_taps).sum().backward()
    torch.testing.assert_close(only_taps.grad, torch.autograd.functional.jacobian(lambda h: ours(x, h).sum(), taps))


def without_modes(function):
    """What a function gives in a thread of its own, where the fixture's mode is not."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_one_call_of_c_gives_what_the_operators_give(dtype, device, monkeypatch):
    if device == "cpu":
        pytest.skip("of a GPU")
    for n, k in ((50, 1), (50, 5), (7, 20), (400, 300)):
        wide = drawn(2, 3, 2 * n, dtype=dtype)
        for x in (wide[..., :n].contiguous(), wide[0, :, :n].contiguous()):
            for taps in (drawn(3, k, dtype=dtype), drawn(k, dtype=dtype), torch.nn.Parameter(drawn(3, k, dtype=dtype))):
                for padding in ("causal", "same", k, k + 3):
                    with torch.no_grad():
                        wanted = ours(x, taps, padding)
                    with monkeypatch.context() as patched:
                        patched.setattr(tapline.torch, "_correlated", None)  # the way by Python
                        got = without_modes(lambda x=x, taps=taps, padding=padding: ours(x, taps.detach(), padding))
                    assert torch.equal(got, wanted)
                    assert not got.requires_grad
        x, taps, g = (
            t.requires_grad_() for t in (wide[..., :n].contiguous(), drawn(3, k, dtype=dtype), drawn(2, 3, n, dtype=dtype))
        )
        wanted = torch.autograd.grad(ours(x, taps), (x, taps), g)
        with monkeypatch.context() as patched:
            patched.setattr(tapline.torch, "_correlated", None)
            got = without_modes(lambda x=x, taps=taps, g=g: torch.autograd.grad(ours(x, taps), (x, taps), g))
        assert all(torch.equal(a, b) for a, b in zip(got, wanted, strict=True))
        gaps = wide[..., ::2]
        assert torch.equal(without_modes(lambda gaps=gaps, taps=taps: ours(gaps, taps.detach())), ours(gaps.contiguous(), taps))
    lazy = torch.complex(drawn(2, 3, 20), drawn(2, 3, 20).flip(-1)).conj().imag
    assert lazy.is_neg()
    taps = drawn(3, 4)
    assert torch.equal(without_modes(lambda: ours(lazy, taps)), ours(lazy.resolve_neg(), taps))


def test_what_is_not_plain_is_for_python(device):
    one_call = tapline._core.conv1d_on_gpu
    x, taps = torch.ones(1, 2, 5, device="cpu"), torch.ones(2, 2, device="cpu")
    assert one_call(x, taps, "causal", None) is None
    assert one_call([1.0], taps, "causal", None) is None
    with pytest.raises(TypeError, match="four"):
        one_call(x, taps)
    if device == "cuda":
        there, of_taps = x.cuda(), taps.cuda()
        wrong = [
            (x, of_taps, "causal"),
            (there, taps, "causal"),
            (there, of_taps.double(), "causal"),
            (there.int(), of_taps.int(), "causal"),
            (there[0, 0], of_taps, "causal"),
            (there[..., :0], of_taps, "causal"),
            (there, of_taps[:1], "causal"),
            (there, of_taps, "full"),
            (there, of_taps, -1),
            (there, of_taps, True),
            (there[..., :1], of_taps, 0),
        ]
        for a, h, padding in wrong:
            assert without_modes(lambda a=a, h=h, padding=padding: one_call(a, h, padding, None)) is None
        assert one_call(there, of_taps, "causal", None) is None  # the fixture's mode is to see the operators
        assert torch.equal(without_modes(lambda: one_call(there, of_taps, "causal", None)), ours(there, of_taps))


def test_what_follows_operators_sees_them():
    seen = []

    class Mode(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(tapline.torch._is_followed())
            return function(*args, **(kwargs or {}))

    with torch.device("cpu"), Mode():
        ours(torch.ones(1, 1, 5), torch.ones(1, 2))
        assert tapline.torch._is_followed()
    assert seen
    with torch.autograd.forward_ad.dual_level():
        assert tapline.torch._is_followed()
    inside = []
    torch.func.grad(lambda x: inside.append(tapline.torch._is_followed()) or x.sum())(torch.ones(3))
    assert inside == [True]


def test_what_is_compiled_sees_operators():
    """Asked while it is compiled, also on machines without a GPU, where conv1d does not come to the question."""

    def function(x):
        fine = x.dtype in tapline.torch._NAMES and type(x) in tapline.torch._PLAIN and x.get_device() == x.get_device()
        return x + (1 if tapline.torch._is_compiling() and tapline.torch._is_followed() and fine else 100)

    with torch.device("cpu"):
        assert torch.compile(function, fullgraph=True, backend="eager")(torch.zeros(2)).tolist() == [1, 1]
