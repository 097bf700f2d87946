"""Tests on real Ray clusters: `make test-cluster`."""
