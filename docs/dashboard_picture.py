"""Take the screenshot docs/images/dashboard.png of the first page of ``bursar serve --demo``.

Run ``python docs/dashboard_picture.py``; it requires Debian's chromium and ``bursar[test]``.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from playwright.sync_api import sync_playwright

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PICTURE = Path(__file__).parent / "images" / "dashboard.png"


def main() -> None:
    """Start the demo, wait until it has spent something, and take the screenshot."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "bursar", "serve", "--demo", "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            try:
                urllib.request.urlopen(f"{address}/healthz").close()
                break
            except OSError:
                time.sleep(0.2)
        with sync_playwright() as play:
            browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
            page = browser.new_page(viewport={"width": 1280, "height": 850})
            page.goto(address)
            page.wait_for_timeout(5000)
            page.screenshot(path=PICTURE)
            browser.close()
    finally:
        server.terminate()
        server.wait(30)


if __name__ == "__main__":
    main()
