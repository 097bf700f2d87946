"""Pages as responses: in the frame of the server, or as one file to be saved."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from assay.web.shell import View, framed


def page_response(view: View, request: Request) -> Response:
    """A view in the frame; as one file if its address ends in `save=1`."""
    if request.query_params.get("save") == "1" and view.is_kept:
        from assay.web.saving import saved_name, saved_page

        return saved_response(saved_page(view), saved_name(request.url.path))
    here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return HTMLResponse(framed(view, here).encode("utf-8", "replace"))


def saved_response(page: str, name: str) -> Response:
    """One file, to be saved: its own scripts run when it is opened from disk, but not here."""
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(page.encode("utf-8", "replace"), media_type="text/html; charset=utf-8", headers=headers)
