"""One module for each page: what it shows, as a `View` that the frame surrounds."""
