"""From a column's values to coordinates: a `Transformer` says how, and a `Transformation` does it for one revision."""
