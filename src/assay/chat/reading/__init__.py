"""What a text says: its words by list, figures with units, places and dates. Knows no metric and no score."""
