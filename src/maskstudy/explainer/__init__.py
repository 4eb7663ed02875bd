"""The page to play with: who can see which token, on trained models, in one HTML file that needs no network.

`page` puts the file together from `template.html`, `style.css` and the modules below `modules/`; `scripts` turns these
modules into one script; `models` and `study` say what of the study goes into it.
"""

from pathlib import Path

FOLDER = Path(__file__).parent
# What is no Python and yet decides what the page is, relative to the package: rules carry a digest of it.
SOURCES = tuple(
    f"explainer/{path.relative_to(FOLDER).as_posix()}"
    for pattern in ("*.html", "*.css", "modules/**/*.mjs")
    for path in sorted(FOLDER.glob(pattern))
)
