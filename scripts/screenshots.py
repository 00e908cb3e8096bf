"""Looks at the built site in a headless Chromium: measures and pictures of pages.

python scripts/screenshots.py build/site build/pictures

prints, for every page, the code blocks and tables that are wider than their box on a
desktop, other boxes than code and outputs that scroll on a telephone, and formulas that
stayed TeX; pages of the API that are high, drawings with small text on a telephone, widths
at which a page shows neither its contents nor their icon, and faults of the filter of
metrics. Every line is a fault. The browser reaches no network. Chromium is `$CHROMIUM`, or
else on the path; CI has none.
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
    *("index", "metrics", "which-metric", "many-devices", "intervals", "embeddings"),
    *("api/metrics", "api/metrics/cumulated-gain", "coming-from/trec-eval"),
    "copies/1-quick-start",
)
TELEPHONE, DESKTOP, LARGE = 390, 1366, 1920
HIGHEST, SMALLEST_TEXT = 12_000, 9  # pixels

# One page after another in a frame as wide as a screen, which may be narrower than the
# narrowest window. A box is cut off if its content is wider.
SURVEY = """<!doctype html><pre id="found"></pre><script>
const frame = document.body.appendChild(document.createElement("iframe"));
frame.height = 900;
const found = [], heights = {}, texts = {};
const wide = (box) => box.clientWidth > 0 && box.scrollWidth > box.clientWidth + 1;
const load = (page, width) => new Promise((done) => {
  frame.width = width;
  frame.onload = () => setTimeout(done, 150);
  frame.src = page;
});

// The size of the smallest text of a drawing, in pixels of the page. matplotlib draws
// letters as paths in hundredths of their size.
async function smallestText(picture) {
  const source = await (await fetch(picture.currentSrc)).text();
  const drawing = new DOMParser().parseFromString(source, "image/svg+xml").documentElement;
  document.body.append(drawing);
  const sizes = [...drawing.querySelectorAll("text")]
    .map((text) => parseFloat(getComputedStyle(text).fontSize));
  for (const [, part] of source.matchAll(/scale\\((\\d*\\.\\d+) -/g))
    sizes.push(100 * part);
  const scale = picture.clientWidth / drawing.viewBox.baseVal.width;
  drawing.remove();
  return Math.min(...sizes) * scale;
}

async function look(page, width) {
  await load(page, width);
  const inside = frame.contentDocument;
  const ready = frame.contentWindow.MathJax?.startup?.promise;
  if (ready) await ready;
  const report = (kind, box) => found.push(
    [page, width, kind, (box.textContent || "").trim().slice(0, 60)]);
  for (const box of inside.querySelectorAll("article *:not(mjx-assistive-mml)")) {
    const isCode = box.closest("pre") !== null;
    const isOutput = box.matches(".cell_output");
    const scrolls = ["auto", "scroll", "hidden"].includes(
      getComputedStyle(box).overflowX) && box.tagName !== "svg";
    if (wide(box) && scrolls && (width === DESKTOP || !(isCode || isOutput)))
      report(isCode ? "code" : box.tagName + "." + box.className, box);
  }
  if (wide(inside.documentElement)) report("page", inside.querySelector("h1"));
  for (const formula of inside.querySelectorAll(".math"))
    if (!formula.querySelector("mjx-container:not(:has([data-mjx-error]))"))
      report("TeX", formula);
  if (width === DESKTOP) heights[page] = inside.documentElement.scrollHeight;
  if (width === TELEPHONE)
    for (const picture of inside.querySelectorAll("article img"))
      if (picture.currentSrc.endsWith(".svg"))
        texts[page + " " + picture.currentSrc.split("/").at(-1)] =
          await smallestText(picture);
}

async function widthsWithoutContents(page) {
  await load(page, 360);
  const style = frame.contentWindow.getComputedStyle, inside = frame.contentDocument;
  const drawer = inside.querySelector(".toc-drawer"), widths = [];
  for (let width = 360; width <= 1920; width++) {
    frame.width = width;
    const isBeside = drawer.clientWidth > 0 && style(drawer).position !== "fixed";
    const icons = [...inside.querySelectorAll(".toc-overlay-icon")];
    const hasIcon = icons.some((icon) => icon.getClientRects().length > 0);
    if (!isBeside && !hasIcon || inside.documentElement.clientWidth !== width)
      widths.push(width);
  }
  return widths;
}

// Of words and of one kind of ties: the rows that the filter shows, and should.
async function filtered() {
  await load("metrics.html", DESKTOP);
  const inside = frame.contentDocument, numbers = [];
  const rows = [...inside.querySelectorAll("article tbody tr")];
  const input = inside.querySelector(".filter [type=search]");
  const shown = () => rows.filter((row) => row.getClientRects().length > 0);
  const change = () => input.form.dispatchEvent(new Event("input"));
  numbers.push([shown().length, rows.length]);
  input.value = "PyKEEN ADJUSTED"; change();
  const known = rows.filter((row) => /pykeen/i.test(row.textContent)
    && /adjusted/i.test(row.textContent));
  numbers.push([shown().length, known.length]);
  input.value = "";
  for (const box of inside.querySelectorAll(".filter :checked"))
    box.checked = box.value === "own rule";
  change();
  numbers.push([shown().length, inside.querySelectorAll("td .ties-own-rule").length]);
  input.value = "nothing is called this"; change();
  numbers.push([shown().length, 0]);
  return numbers;
}

async function survey() {
  for (const page of PAGES)
    for (const width of [DESKTOP, TELEPHONE]) await look(page, width);
  const without = {};
  for (const page of ["index.html", "api/metrics/cumulated-gain.html"])
    without[page] = await widthsWithoutContents(page);
  const filter = await filtered();
  document.getElementById("found").textContent = JSON.stringify(
    {found, heights, texts, without, filter});
}
survey();
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


def survey(address):
    """Measures all pages, and returns the lines of faults."""
    pages = sorted(
        str(path.relative_to(SITE))
        for path in SITE.rglob("*.html")
        if not {"_modules", "_static"} & {*path.relative_to(SITE).parts}
        and path.stem not in ("genindex", "py-modindex", "search")
    )
    widths = f"const DESKTOP = {DESKTOP}, TELEPHONE = {TELEPHONE};"
    known = f"<script>{widths} const PAGES = {json.dumps(pages)};</script>"
    Pages.looking["/survey"] = SURVEY.replace("<script>", f"{known}<script>", 1)
    dom = chromium(
        *("--dump-dom", "--timeout=600000", "--virtual-time-budget=900000"),
        address=f"{address}/survey",
    )
    [text] = re.findall(r'<pre id="found">(.*?)</pre>', dom, re.S)
    measured = json.loads(html.unescape(text))
    of_api = {x: y for x, y in measured["heights"].items() if x.startswith("api/")}
    highest = max(of_api, key=of_api.__getitem__)
    smallest = min(measured["texts"], key=measured["texts"].__getitem__)
    print(f"{len(pages)} pages")
    print(f"the highest of the API: {highest}, {of_api[highest]} pixels")
    print(f"the smallest text: {smallest}, {measured['texts'][smallest]:.1f} pixels")
    return [
        *(f"{x} at {width}: {kind}: {y!r}" for x, width, kind, y in measured["found"]),
        *(f"{x} is {y} pixels high" for x, y in of_api.items() if y > HIGHEST),
        *(
            f"{x} has text of {y:.1f} pixels at {TELEPHONE}"
            for x, y in measured["texts"].items()
            if y < SMALLEST_TEXT
        ),
        *(f"{x} lacks contents at {y}" for x, y in measured["without"].items() if y),
        *(f"the filter shows {x} of {y} rows" for x, y in measured["filter"] if x != y),
    ]


def draw(address):
    """Takes pictures of pages, in light and in dark."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    for page in SHOWN:
        for width, height in ((TELEPHONE, 844), (DESKTOP, 900), (LARGE, 1080)):
            frame = FRAME.replace("PAGE", page).replace("WIDTH", str(width))
            Pages.looking["/frame"] = frame.replace("HEIGHT", str(height))
            for scheme, suffix in ((1, ""), (0, "-dark")):
                name = f"{page.replace('/', '-')}-{width}{suffix}.png"
                chromium(
                    *(f"--screenshot={PICTURES / name}", "--virtual-time-budget=5000"),
                    *(f"--window-size={max(width, 500)},{height}",),
                    f"--blink-settings=preferredColorScheme={scheme}",
                    address=f"{address}/frame",
                )


def main():
    """Measures and draws."""
    handler = functools.partial(Pages, directory=SITE)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    findings = survey(address)
    print(*findings, f"{len(findings)} findings", sep="\n")
    draw(address)
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
