"""The paper and its like: analysis, claims, figures and report; needs ``bursar[paper]``."""
