"""A metric and a domain for assay, in a package of their own."""
