# The site's settings for Sphinx. scripts/site/build.py gathers the pages and runs it; nothing is fetched when pages are viewed.
import os

project = "tapline"
author = "the authors of tapline"
copyright = "the authors of tapline"
release = os.environ["TAPLINE_VERSION"]
version = release

extensions = ["myst_parser", "sphinx_design", "sphinx_copybutton"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_enable_extensions = ["colon_fence", "attrs_inline"]
myst_heading_anchors = 4
primary_domain = "py"
highlight_language = "text"
nitpicky = False
suppress_warnings = ["misc.highlighting_failure"]  # CUDA's <<<>>> and shell sessions
copybutton_exclude = ".linenos, .gp, .go"

html_theme = "furo"
html_title = f"tapline {release}"
html_static_path = ["static"]
html_favicon = "static/favicon.svg"
html_css_files = ["tapline.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False
html_permalinks_icon = "#"
pygments_style = "friendly"
pygments_dark_style = "github-dark"
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#b3261e",
        "color-brand-content": "#b3261e",
        "font-stack": "system-ui, sans-serif",
        "font-stack--monospace": "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace",
    },
    "dark_css_variables": {"color-brand-primary": "#ff8a80", "color-brand-content": "#ff8a80"},
    "navigation_with_keys": True,
}
