"""A metric, a domain and an agent for assay, in a separate package."""
