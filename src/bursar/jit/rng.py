"""Random streams for compiled code: Philox 4x64-10, the same numbers as ``numpy.random.Philox``.

A ``numpy.random.Generator`` is not passed to compiled code because that costs 9 µs per call
(measured, Numba 0.68), more than the decision itself, and because its state cannot be written to a
ledger in a few bytes. A stream here is eleven 64-bit words (key, counter, buffer, position) in one
array: cheap to pass, to copy and to store, and independent for every key.

Salmon, Moraes, Dror & Shaw (2011). Parallel random numbers: as easy as 1, 2, 3. SC '11.
"""

import math

import numpy as np
from numpy.typing import NDArray

from bursar.errors import InvalidInput
from bursar.jit.compile import compiled, inlined
from bursar.validation import check_int

Stream = NDArray[np.uint64]

_KEY, _COUNTER, _BUFFER, _POSITION = 0, 2, 6, 10
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_M0 = np.uint64(0xD2E7470EE14C6C93)
_M1 = np.uint64(0xCA5A826395121157)
_W0 = np.uint64(0x9E3779B97F4A7C15)
_W1 = np.uint64(0xBB67AE8584CAA73B)
_ONE = np.uint64(1)
_DROP = np.uint64(11)  # a double keeps 53 of 64 bits
_UNIT = 2.0**-53


def new_stream(*position: int) -> Stream:
    """Make the stream of a position such as ``(seed, repetition, purpose)``."""
    if not position:
        raise InvalidInput("a seed must be a whole number, 0 or more, got nothing; try 0")
    for part in position:
        check_int("a seed", part, 0, "try 0")
    first, *rest = (int(part) for part in position)
    stream = np.zeros(11, dtype=np.uint64)
    # as a spawn key, because SeedSequence([1]) and SeedSequence([1, 0]) are the same
    seeds = np.random.SeedSequence(first, spawn_key=rest)
    stream[_KEY:_COUNTER] = seeds.generate_state(2, np.uint64)
    stream[_POSITION] = 4  # the buffer of four numbers starts empty
    return stream


@compiled
def _high(a: np.uint64, b: np.uint64) -> np.uint64:
    """Return the upper 64 bits of a product of two 64-bit numbers."""
    a_low, a_high = a & _LOW, a >> _HALF
    b_low, b_high = b & _LOW, b >> _HALF
    middle = a_high * b_low + ((a_low * b_low) >> _HALF)
    other = a_low * b_high + (middle & _LOW)
    return a_high * b_high + (middle >> _HALF) + (other >> _HALF)


@compiled
def _refill(stream: Stream) -> None:
    for word in range(_COUNTER, _BUFFER):  # add one to a 256-bit counter, carry included
        stream[word] += _ONE
        if stream[word] != 0:
            break
    k0, k1 = stream[0], stream[1]
    c0, c1, c2, c3 = stream[2], stream[3], stream[4], stream[5]
    for _ in range(10):
        h0, l0 = _high(_M0, c0), _M0 * c0
        h1, l1 = _high(_M1, c2), _M1 * c2
        c0, c1, c2, c3 = h1 ^ c1 ^ k0, l1, h0 ^ c3 ^ k1, l0
        k0, k1 = k0 + _W0, k1 + _W1
    stream[6], stream[7], stream[8], stream[9] = c0, c1, c2, c3
    stream[_POSITION] = 0


def _uniform(stream: Stream) -> float:
    """Draw a number from [0, 1)."""
    if stream[_POSITION] >= 4:
        _refill(stream)
    word = stream[_BUFFER + np.int64(stream[_POSITION])]
    stream[_POSITION] += _ONE
    return np.float64(word >> _DROP) * _UNIT


def _interpreted_uniform(stream: Stream) -> float:
    """Draw the same number with NumPy's Philox; the compiled one relies on 64-bit overflow."""
    if stream[_POSITION] >= 4:
        source = np.random.Philox(key=stream[:_COUNTER], counter=stream[_COUNTER:_BUFFER])
        stream[_BUFFER:_POSITION] = source.random_raw(4)
        stream[_COUNTER:_BUFFER] = source.state["state"]["counter"]
        stream[_POSITION] = 0
    word = stream[_BUFFER + int(stream[_POSITION])]
    stream[_POSITION] += _ONE
    return float(word >> _DROP) * _UNIT


_uniform.__interpreted__ = _interpreted_uniform  # type: ignore[attr-defined]  # read by `interpreted`
uniform = inlined(_uniform)


@inlined
def below(stream: Stream, count: int) -> int:
    """Draw one of 0, 1, …, count - 1."""
    return int(uniform(stream) * count)


@compiled
def beta(stream: Stream, a: float, b: float) -> float:
    """Draw from Beta(a, b) for a, b >= 1: inversion if one of them is 1, else Cheng's BB (1978).

    Cheng (1978). Generating beta variates with nonintegral shape parameters. CACM 21(4).
    """
    if a == 1.0:
        return -math.expm1(math.log1p(-uniform(stream)) / b)
    if b == 1.0:
        return math.exp(math.log1p(-uniform(stream)) / a)
    small, large = min(a, b), max(a, b)
    total = a + b
    scale = math.sqrt((total - 2.0) / (2.0 * a * b - total))
    shift = small + 1.0 / scale
    while True:
        u, v = uniform(stream), uniform(stream)
        if u == 0.0 or v == 0.0:
            continue
        logit = scale * math.log(u / (1.0 - u))
        w = small * math.exp(logit)
        z = u * u * v
        r = shift * logit - math.log(4.0)
        s = small + r - w
        if s + 1.0 + math.log(5.0) >= 5.0 * z:
            break
        if r + total * math.log(total / (large + w)) >= math.log(z):
            break
    return w / (large + w) if a == small else large / (large + w)


@compiled
def normal(stream: Stream) -> float:
    """Draw from the standard normal distribution, after Box and Muller."""
    radius = math.sqrt(-2.0 * math.log1p(-uniform(stream)))
    return radius * math.cos(2.0 * math.pi * uniform(stream))


@compiled
def gamma_from_one(stream: Stream, shape: float) -> float:
    """Draw from the gamma distribution of a shape of 1 or more."""
    d = shape - 1.0 / 3.0
    while True:
        x = normal(stream)
        v = (1.0 + x / math.sqrt(9.0 * d)) ** 3
        if v > 0.0 and math.log1p(-uniform(stream)) < 0.5 * x * x + d * (1.0 - v + math.log(v)):
            return d * v


@compiled
def gamma(stream: Stream, shape: float) -> float:
    """Draw from the gamma distribution of scale 1.

    Marsaglia & Tsang (2000). A simple method for generating gamma variables. ACM TOMS 26(3).
    """
    if shape < 1.0:
        part: float = (1.0 - uniform(stream)) ** (1.0 / shape)
        return gamma_from_one(stream, shape + 1.0) * part
    return gamma_from_one(stream, shape)
