"""Functions written in the language itself, one file per family.

A model is told of the functions of the families in OFFERED, by their first lines: a function added to one of these, or
a comment changed above one, is another prompt, and every recorded answer is to be recorded again. What only the
built-in rules call goes into a family of its own, which is not named here."""

OFFERED = (
    "activations", "attention", "conv", "linear", "losses", "norms", "pooling", "recurrent", "shapes", "softmax",
    "sums",
)  # fmt: skip
