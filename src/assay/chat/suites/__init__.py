"""The suites that come with assay: a YAML file each, called by its name without the ending."""
