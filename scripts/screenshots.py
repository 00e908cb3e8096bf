"""Looks at the built site in a headless Chromium: what is cut off, and six pictures.

python scripts/screenshots.py build/site build/pictures

prints, for every page, the code blocks and tables that are wider than their box at 1,300
pixels, and what else than code scrolls at 400, and formulas that stayed TeX; none may. The
browser reaches no network. Chromium is `$CHROMIUM`, or else on the path; CI has none.
"""

import functools
import html
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

SITE, PICTURES = (Path(path).resolve() for path in sys.argv[1:3])
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or "google-chrome"
SHOWN = (
    *("index", "which-metric", "embeddings", "api/metrics"),
    *("coming-from/trec-eval", "copies/1-quick-start"),
)

# One page after another in a frame as wide as a screen, which may be narrower than the
# narrowest window. A box is cut off if what it holds is wider.
SURVEY = """<!doctype html><pre id="found"></pre><script>
const frame = document.body.appendChild(document.createElement("iframe"));
frame.height = 900;
const wide = (box) => box.clientWidth > 0 && box.scrollWidth > box.clientWidth + 1;
const load = (page, width) => new Promise((done) => {
  frame.width = width;
  frame.onload = () => setTimeout(done, 150);
  frame.src = page;
});
async function survey(pages) {
  const found = [];
  for (const page of pages) for (const width of [1300, 400]) {
    await load(page, width);
    const inside = frame.contentDocument;
    const ready = frame.contentWindow.MathJax?.startup?.promise;
    if (ready) await ready;
    const report = (kind, box) => found.push(
      [page, width, kind, (box.textContent || "").trim().slice(0, 60)]);
    for (const box of inside.querySelectorAll("article *:not(mjx-assistive-mml)")) {
      const isCode = box.closest("pre") !== null;
      const scrolls = ["auto", "scroll", "hidden"].includes(
        getComputedStyle(box).overflowX) && box.tagName !== "svg";
      if (wide(box) && scrolls && (width === 1300 || !isCode))
        report(isCode ? "code" : box.tagName + "." + box.className, box);
    }
    if (wide(inside.documentElement)) report("page", inside.querySelector("h1"));
    for (const formula of inside.querySelectorAll(".math"))
      if (!formula.querySelector("mjx-container:not(:has([data-mjx-error]))"))
        report("TeX", formula);
  }
  document.getElementById("found").textContent = JSON.stringify(found);
}
survey(PAGES);
</script>"""
FRAME = """<!doctype html><style>body { margin: 0 } iframe { border: 0 }</style>
<iframe src="/PAGE.html" width="WIDTH" height="HEIGHT"></iframe>"""


class Pages(http.server.SimpleHTTPRequestHandler):
    """Serves the site, and beside it the pages that look at it."""

    looking: dict[str, str] = {}

    def do_GET(self):
        """Answers with a page of `looking`, or with a file."""
        text = self.looking.get(self.path)
        if text is None:
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format, *args):
        """Stays silent."""


def chromium(*options, address):
    """Runs the browser on a page, without a network, and returns what it prints."""
    command = [
        *(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
        *(
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            *options,
            address,
        ),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main():
    """Counts and draws."""
    pages = sorted(
        str(path.relative_to(SITE))
        for path in SITE.rglob("*.html")
        if not {"_modules", "_static"} & {*path.relative_to(SITE).parts}
        and path.stem not in ("genindex", "py-modindex", "search")
    )
    Pages.looking["/survey"] = SURVEY.replace("PAGES", json.dumps(pages))
    handler = functools.partial(Pages, directory=SITE)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"

    dom = chromium(
        *("--dump-dom", "--timeout=600000", "--virtual-time-budget=900000"),
        address=f"{address}/survey",
    )
    [text] = re.findall(r'<pre id="found">(.*?)</pre>', dom, re.S)
    found = json.loads(html.unescape(text))
    for page, width, kind, start in found:
        print(f"{page} at {width}: {kind}: {start!r}")
    print(f"{len(pages)} pages, {len(found)} findings")

    PICTURES.mkdir(parents=True, exist_ok=True)
    for page in SHOWN:
        for width, height, scheme in ((1300, 900, 1), (1300, 900, 0), (400, 800, 1)):
            name = f"{page.replace('/', '-')}-{width}{'' if scheme else '-dark'}.png"
            frame = FRAME.replace("PAGE", page).replace("WIDTH", str(width))
            Pages.looking["/frame"] = frame.replace("HEIGHT", str(height))
            chromium(
                *(f"--screenshot={PICTURES / name}", "--virtual-time-budget=5000"),
                *(f"--window-size={max(width, 500)},{height}",),
                f"--blink-settings=preferredColorScheme={scheme}",
                address=f"{address}/frame",
            )
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
