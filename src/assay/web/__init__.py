"""The page: a web application over the store of runs, for `assay serve`. It draws with the parts of the HTML reports.

`app` puts everything together, `site` is what every page works with, `safety` guards every request, `shell` is the
frame around every page, `pages/` has a module for each page, `live/` talks to agents, and `api` serves the same data as
JSON. All data comes from `assay.runs`.
"""
