"""From a column's values to coordinates: `Transformer` says how, `base.Transformation` does it for one revision."""
