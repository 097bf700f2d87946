"""The subjects that assay knows: a folder each, with its data and a `DOMAIN`. Copy `shop` to make another."""
