"""A tree over arms that answers three questions at its root, in one look.

What is the highest bound, when does the first bound expire, and how many arms have an infinite
index? Changing an arm touches one node a level; finding the arm in question descends one path.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bursar.compiled import compiled, inlined

__all__ = [
    "ABSENT",
    "NEVER",
    "NODE",
    "find_expired",
    "find_infinite",
    "find_waking",
    "new_tree",
    "put",
]

Tree = NDArray[Any]

NODE = np.dtype([("bound", "f8"), ("expiry", "i8"), ("infinite", "i8")])
NEVER = 2**62  # an expiry that no game reaches
ABSENT = -1.0  # the bound of an arm that is not in the tree; indices are never negative
_ROOT = 1


def new_tree(arms: int) -> Tree:
    """Make a tree with no arm in it; the leaves are its second half."""
    leaves = 1 << max(arms - 1, 0).bit_length()
    tree = np.zeros(2 * leaves, dtype=NODE)
    tree["bound"] = ABSENT
    tree["expiry"] = NEVER
    return tree


@inlined
def put(tree: Tree, arm: int, bound: float, expiry: int) -> None:
    """Set an arm's bound, valid up to and including ``expiry`` plays."""
    node = (tree.size >> 1) + arm
    tree[node].bound = bound
    tree[node].expiry = expiry
    tree[node].infinite = 1 if bound == math.inf else 0
    node >>= 1
    while node >= _ROOT:
        left, right = tree[2 * node], tree[2 * node + 1]
        bound = max(left.bound, right.bound)
        expiry = min(left.expiry, right.expiry)
        infinite = left.infinite + right.infinite
        here = tree[node]
        if here.bound == bound and here.expiry == expiry and here.infinite == infinite:
            return
        here.bound = bound
        here.expiry = expiry
        here.infinite = infinite
        node >>= 1


@inlined
def find_waking(tree: Tree, level: float, plays: int) -> int:
    """Return an arm whose bound reaches ``level`` or has expired, or -1 if there is none."""
    node = _ROOT
    if tree[node].bound < level and tree[node].expiry >= plays:
        return -1
    half = tree.size >> 1
    while node < half:
        node <<= 1
        if tree[node].bound < level and tree[node].expiry >= plays:
            node += 1
    return node - half


@inlined
def find_expired(tree: Tree, plays: int) -> int:
    """Return an arm whose bound has expired, or -1 if there is none."""
    node = _ROOT
    if tree[node].expiry >= plays:
        return -1
    half = tree.size >> 1
    while node < half:
        node <<= 1
        if tree[node].expiry >= plays:
            node += 1
    return node - half


@compiled
def find_infinite(tree: Tree, skip: int) -> int:
    """Return the arm of an infinite index that has ``skip`` such arms before it."""
    node, half = _ROOT, tree.size >> 1
    while node < half:
        node <<= 1
        if tree[node].infinite <= skip:
            skip -= tree[node].infinite
            node += 1
    return node - half
