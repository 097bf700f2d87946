"""One module for each tool whose logs are read."""
