"""What assay shows: charts as data, and pages that need nothing but a browser."""
