"""The web service `ggp serve`: matches, games and tournaments in a browser, and the same as JSON.

In reading order: `application` (settings → the running service), `safety` (in front of all requests), the packages
`api` (JSON) and `html` (pages), `queries` (matches, live or kept), `tournaments`, `live` (matches that run here),
`repository` (what is kept), `views` (records → values of the API), `catalogue` (games), `evaluators` (processes that
evaluate rules), `models` (values of the API), `settings`; `commands` has the command.
"""
