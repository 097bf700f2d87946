"""HTML pages, each one file that opens offline. `page` lays out a document; the other modules are its subjects."""
