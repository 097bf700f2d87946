"""Frames of a recording on its timeline: videos, images, embedded images; and references that must not be followed."""

from __future__ import annotations

import base64
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from mcap.writer import Writer
from PIL import Image
from starlette.testclient import TestClient
from tests.report.browser import Browser
from tests.web.test_browser import Tab, opened

from assay.chat.world.serving import LoopbackServer
from assay.errors import NotFoundError
from assay.events.sources.mcap import screen_messages
from assay.store import open_store
from assay.store.store import Store
from assay.web.app import make_app
from assay.web.safety import Access
from assay.web.site import Site
from assay.web.timeline import beside
from assay.web.timeline.beside import opened_beside

_MS = 1_000_000
_STEP = 100 * _MS
FRAMES = 30
START = 1_700_000_000_000_000_000


def shade(number: int) -> int:
    """The brightness of a frame, by which it is recognised."""
    return 8 * number


def write_video(path: Path, codec: str = "libx264", *, frames: int = FRAMES) -> None:
    """A video of ten frames a second, each brighter than the one before, with a key frame every second."""
    container: Any = av.open(str(path), "w")
    stream = container.add_stream(codec, rate=10)
    stream.width, stream.height, stream.pix_fmt, stream.gop_size = 64, 48, "yuv420p", 10
    stream.options = {"x265-params": "log-level=none"} if codec == "libx265" else {}
    for number in range(frames):
        picture = av.VideoFrame.from_ndarray(np.full((48, 64, 3), shade(number), np.uint8), format="rgb24")
        picture.pts, picture.time_base = number, Fraction(1, 10)
        for packet in stream.encode(picture):
            container.mux(packet)
    for packet in stream.encode(None):
        container.mux(packet)
    container.close()


def write_recording(path: Path, references: Iterable[dict[str, Any]]) -> None:
    """A recording with a frame every tenth of a second, and a key that is pressed at the first and the last."""
    every = list(references)
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start(profile="owa", library="assay tests")
        ids = {
            topic: writer.register_channel(topic, "json", writer.register_schema(topic, "jsonschema", b"{}"))
            for topic in ("keyboard", "screen")
        }
        for number, reference in enumerate(every):
            time = START + number * _STEP
            writer.add_message(ids["screen"], time, json.dumps(reference).encode(), time)
            if number in (0, len(every) - 1):
                for event, later in (("press", 0), ("release", 50 * _MS)):
                    key = json.dumps({"event_type": event, "vk": 65}).encode()
                    writer.add_message(ids["keyboard"], time + later, key, time + later)
        writer.finish()  # type: ignore[no-untyped-call]


def in_video(name: str, count: int = FRAMES) -> list[dict[str, Any]]:
    return [{"media_ref": {"uri": name, "pts_ns": number * _STEP}} for number in range(count)]


def picture(kind: str, grey: int = 100) -> bytes:
    out = io.BytesIO()
    Image.new("L", (8, 8), grey).convert("RGB").save(out, kind)
    return out.getvalue()


Reader = Callable[[str], tuple[TestClient, dict[str, str]]]


@pytest.fixture
def reading(tmp_path: Path) -> Iterator[Reader]:
    """Opens a recording of the folder against itself."""
    with open_store(tmp_path / "runs.db") as store:
        site = Site(store, folders=[tmp_path / "served"])
        with TestClient(make_app(site, Access()), base_url="http://127.0.0.1") as client:

            def read(name: str) -> tuple[TestClient, dict[str, str]]:
                ids = {one.name.partition("/")[2]: one.id for one in site.timelines.recordings.listed()}
                return client, {"predicted": ids[name], "truth": ids[name]}

            yield read
        site.close()


@pytest.fixture
def served(tmp_path: Path) -> Path:
    folder = tmp_path / "served"
    folder.mkdir()
    return folder


def frame(client: TestClient, named: dict[str, str], at_ms: int, **given: Any) -> Any:
    return client.get("/timeline/frame", params={**named, "at": at_ms * 1000, **given})


def brightness(content: bytes) -> int:
    return int(np.asarray(Image.open(io.BytesIO(content)).convert("L")).mean())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "codec"), [("v.mkv", "libx264"), ("v.webm", "libvpx-vp9"), ("v.mp4", "libx264"), ("v.mov", "libx265")]
)
def test_the_frame_on_the_screen_is_shown(name: str, codec: str, served: Path, reading: Reader) -> None:
    write_video(served / name, codec)
    write_recording(served / "a.mcap", in_video(name))
    client, named = reading("a.mcap")
    # Forwards, a jump, and back again; between two frames the earlier one is on the screen.
    for at_ms, number in ((0, 0), (50, 0), (100, 1), (1_050, 10), (2_899, 28), (700, 7), (2_999, 29)):
        found = frame(client, named, at_ms)
        assert (found.status_code, found.headers["content-type"]) == (200, "image/jpeg"), found.text
        assert abs(brightness(found.content) - shade(number)) <= 4, at_ms
        assert int(found.headers["x-frame-from"]) == number * 100_000
    assert "30 frames of the recording" in client.get("/timeline", params=named).text


def test_a_frame_is_made_no_wider_than_asked_for(served: Path, reading: Reader) -> None:
    write_video(served / "v.mkv")
    write_recording(served / "a.mcap", in_video("v.mkv"))
    client, named = reading("a.mcap")
    sizes = [Image.open(io.BytesIO(frame(client, named, 0, width=width).content)).size for width in (0, 640)]
    assert sizes == [(64, 48), (64, 48)], "and no wider than it is"
    assert frame(client, named, 0, width="wide").status_code == 400


def test_images_beside_a_recording_and_in_it_are_sent_as_they_are(served: Path, reading: Reader) -> None:
    kinds = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp", "AVIF": "image/avif"}
    (served / "shots").mkdir()
    contents = {kind: picture(kind) for kind in kinds}
    for kind, content in contents.items():
        (served / "shots" / kind).write_bytes(content)
    embedded = f"data:image/png;base64,{base64.b64encode(contents['PNG']).decode()}"
    names = [*(f"./shots/{kind}" for kind in kinds), embedded]
    write_recording(served / "a.mcap", [{"media_ref": {"uri": name}} for name in names])
    client, named = reading("a.mcap")
    for number, (kind, media_type) in enumerate([*kinds.items(), ("PNG", "image/png")]):
        found = frame(client, named, 100 * number)
        assert (found.content, found.headers["content-type"]) == (contents[kind], media_type), found.text
        assert found.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in found.headers["content-security-policy"]


def test_a_reference_leads_nowhere_but_into_the_folder_of_its_recording(served: Path, reading: Reader) -> None:
    outside = served.parent / "secret.png"
    outside.write_bytes(picture("PNG"))
    (served / "inner").mkdir()
    (served / "inner" / "ok.png").write_bytes(picture("PNG"))
    (served / "link.png").symlink_to(outside)
    (served / "linked").symlink_to(served / "inner")
    os.mkfifo(served / "pipe.png")
    names = [
        "../secret.png", str(outside), f"file://{outside}", "http://127.0.0.1:9/a.png", "link.png", "linked/ok.png",
        "pipe.png", "inner", ".", "inner/../../secret.png", "..\\secret.png", "C:secret.png", "inner//ok.png", "a\0b",
        "a" * 2000, "absent.png", "/", "é\ud800.png".encode("utf-8", "surrogatepass").decode("utf-8", "replace"),
    ]  # fmt: skip
    write_recording(served / "a.mcap", [{"media_ref": {"uri": name}} for name in names])
    client, named = reading("a.mcap")
    for number, name in enumerate(names):
        found = frame(client, named, 100 * number)
        assert found.status_code == 404, name
        assert "recording" in found.json()["error"], name
    page = client.get("/timeline", params=named).text
    assert "Frames cannot be shown" in page
    assert 'data-timeline="frame"' not in page


def test_what_is_not_an_image_or_a_video_is_not_sent(
    served: Path, reading: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    (served / "page.png").write_bytes(b"<html><script>alert(1)</script>")
    (served / "drawing.png").write_bytes(b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>")
    (served / "large.png").write_bytes(picture("PNG") + bytes(4000))
    monkeypatch.setattr(beside, "MOST_IMAGE_BYTES", 3000)
    script = base64.b64encode(b"<script>").decode()
    long = base64.b64encode(picture("PNG") + bytes(4000)).decode()
    names = [
        "page.png", "drawing.png", "large.png", "data:text/html,<script>alert(1)</script>",
        f"data:image/png;base64,{script}", f"data:image/svg+xml;base64,{script}", "data:image/png;base64,%%%",
        f"data:image/png;base64,{long}",
    ]  # fmt: skip
    write_recording(served / "a.mcap", [{"media_ref": {"uri": name}} for name in names])
    client, named = reading("a.mcap")
    for number, name in enumerate(names):
        found = frame(client, named, 100 * number)
        assert (found.status_code, found.headers["content-type"]) == (404, "application/json"), name


@pytest.mark.parametrize("begin", [b"\x1aE\xdf\xa3", b"\0\0\0\x18ftypmp42"])
def test_a_damaged_video_is_reported_and_the_page_stays(begin: bytes, served: Path, reading: Reader) -> None:
    (served / "v.mkv").write_bytes(begin + os.urandom(5000))
    write_recording(served / "a.mcap", in_video("v.mkv", 3))
    client, named = reading("a.mcap")
    found = frame(client, named, 0)
    assert found.status_code == 404
    assert "the video cannot be decoded" in found.json()["error"]
    assert "the video cannot be decoded" in client.get("/timeline", params=named).text


def test_a_playlist_that_names_other_files_is_not_a_video(served: Path, reading: Reader) -> None:
    write_video(served.parent / "secret.mp4")
    (served / "v.mkv").write_text(f"ffconcat version 1.0\nfile '{served.parent / 'secret.mp4'}'\n")
    write_recording(served / "a.mcap", in_video("v.mkv", 3))
    client, named = reading("a.mcap")
    assert "neither a video" in frame(client, named, 0).json()["error"]


def test_a_decoder_that_dies_is_started_again_and_none_is_left(served: Path, reading: Reader) -> None:
    write_video(served / "v.mkv")
    write_recording(served / "a.mcap", in_video("v.mkv"))
    client, named = reading("a.mcap")
    assert frame(client, named, 0).status_code == 200
    [worker] = _workers()
    os.kill(worker, 9)
    after = [frame(client, named, 100).status_code for _ in range(2)]
    assert after[-1] == 200
    assert len(_workers()) == 1
    client.__exit__(None, None, None)
    assert _workers() == []


def _workers() -> list[int]:
    """Living decoders that this process has started."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            command = (folder / "cmdline").read_bytes()
        except OSError:  # it has ended meanwhile
            continue
        if int(parent) == os.getpid() and state != "Z" and b"video_worker" in command:
            found.append(int(folder.name))
    return found


def test_older_recordings_name_the_video_by_path(served: Path, reading: Reader) -> None:
    write_video(served / "v.mkv")
    write_recording(served / "a.mcap", [{"path": "v.mkv", "pts": number * _STEP} for number in range(FRAMES)])
    client, named = reading("a.mcap")
    assert abs(brightness(frame(client, named, 1_200).content) - shade(12)) <= 4


def test_times_without_a_frame_say_so(served: Path, reading: Reader) -> None:
    write_video(served / "v.mkv")
    write_recording(served / "a.mcap", [*in_video("v.mkv", 2), {"media_ref": {"uri": "v.mkv"}}, {}])
    client, named = reading("a.mcap")
    sentences = [frame(client, named, at).json()["error"] for at in (-100, 200, 300)]
    assert [
        words for words in ("no frame yet", "at what time", "where this frame is") if words not in str(sentences)
    ] == []
    example = {"predicted": "example", "truth": "example"}
    assert "have no frames" in frame(client, example, 0).json()["error"]


def test_a_message_at_one_time_is_found_without_reading_the_others(served: Path) -> None:
    write_recording(served / "a.mcap", in_video("v.mkv"))
    found = list(screen_messages(str(served / "a.mcap"), START + 3 * _STEP))
    assert [json.loads(raw)["media_ref"]["pts_ns"] for _, raw in found] == [3 * _STEP]


def test_the_folder_of_a_recording_may_not_be_a_link_to_elsewhere(served: Path) -> None:
    (served / "a.mcap").touch()
    with pytest.raises(NotFoundError):
        opened_beside(served / "a.mcap", "..")


@pytest.mark.browser
@pytest.mark.slow(seconds=4)
def test_a_reader_plays_a_recording_with_its_frames(browser: Browser, store: Store, tmp_path: Path) -> None:
    write_video(tmp_path / "v.mkv")
    write_recording(tmp_path / "a.mcap", in_video("v.mkv"))
    site = Site(store, folders=[tmp_path])
    [one] = [one.id for one in site.timelines.recordings.listed() if one.name.endswith("a.mcap")]
    shown = "Number(document.querySelector('[data-timeline=frame]').dataset.shown ?? 0)"
    # Read from a copy: a canvas that is read often draws slowly, and the browser says so.
    grey = (
        "((one) => { const copy = document.createElement('canvas'); copy.width = copy.height = 1; "
        "const to = copy.getContext('2d', {willReadFrequently: true}); to.drawImage(one, 0, 0, 1, 1); "
        "return to.getImageData(0, 0, 1, 1).data[0]; })(document.querySelector('[data-timeline=frame]'))"
    )
    words = "document.querySelector('[data-timeline=frame-words]').textContent"
    with closing(site), LoopbackServer(make_app(site, Access())) as server, opened(browser, server.url) as tab:
        tab.open(f"/timeline?predicted={one}&truth={one}&at=1200000", done=f"{shown} > 0")
        assert abs(tab.value(grey) - shade(12)) <= 4
        # The frame after and the one before, by key.
        _press(tab, "l")
        tab.wait(f"{words} === 'Frame at 1.300 s'")
        assert abs(tab.value(grey) - shade(13)) <= 4
        _press(tab, "j")
        tab.wait(f"{words} === 'Frame at 1.200 s'")
        # Space plays from the cursor, frames follow, and Space pauses where it is.
        tab.value("document.querySelector('[data-timeline=speed]').value = '0.5'")
        _press(tab, " ")
        assert tab.value("document.querySelector('[data-act=play]').getAttribute('aria-label')") == "Pause"
        tab.wait(f"parseFloat({words}.split('at ')[1]) >= 1.5")
        _press(tab, " ")
        tab.wait("Number(new URLSearchParams(location.search).get('at')) >= 1.5e6")
        at = tab.value("Number(new URLSearchParams(location.search).get('at'))")
        number = int(at // 100_000)
        tab.wait(f"{words} === 'Frame at {number / 10:.3f} s'")
        assert abs(tab.value(grey) - shade(number)) <= 4
        # A baseline is looked at in the same place.
        tab.follow("[...document.querySelectorAll('[data-timeline=sides] a')][1].click()", f"{shown} > 0")
        assert tab.value("new URLSearchParams(location.search).get('baseline')") == "idle"
        assert tab.value("Number(new URLSearchParams(location.search).get('at'))") == at
        assert tab.console == []


def _press(tab: Tab, key: str) -> None:
    tab.value(f"document.body.dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}', bubbles: true}}))")
