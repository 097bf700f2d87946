"""Pages as responses: in the frame of the server, or as one file to be saved."""

from __future__ import annotations

from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from assay.web.shell import View, framed


def page_response(view: View, request: Request) -> Response:
    """A view in the frame; as one file if its address ends in `save=1`."""
    if request.query_params.get("save") == "1" and view.is_kept:
        from assay.web.saving import saved_name, saved_page

        return saved_response(saved_page(view), saved_name(request.url.path))
    return HTMLResponse(framed(view, address_of(request)).encode("utf-8", "replace"))


def address_of(request: Request) -> str:
    """The address that a request asks for, with its query; no other request has the same.

    The path of `request.url` does not serve as one: it is the same for a name with '?' and for a name with '%3F'.
    """
    path = quote(request.scope["path"], safe="/@:~", errors="replace")
    return path + (f"?{request.url.query}" if request.url.query else "")


def is_shown(response: Response) -> bool:
    """Whether a browser shows the response as a page, and does not save it as a file."""
    return response.status_code == 200 and "content-disposition" not in response.headers


def saved_response(page: str, name: str) -> Response:
    """One file, to be saved: its own scripts run when it is opened from disk, but not here."""
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(page.encode("utf-8", "replace"), media_type="text/html; charset=utf-8", headers=headers)
