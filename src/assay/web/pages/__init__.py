"""One module for each page: what it shows, as a `View` inside the frame."""
