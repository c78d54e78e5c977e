"""The style sheet of the page, for light and dark."""

LIGHT = ("#4477aa", "#cc3311", "#228833", "#aa3377", "#ee7733", "#0099aa", "#887700", "#555555")
DARK = ("#88bbee", "#ff8866", "#77cc77", "#dd88bb", "#ffaa66", "#55ccdd", "#ddcc55", "#bbbbbb")
"""The colours of the policies, each with enough contrast to the background and to its neighbours."""


def _colors(colors: tuple[str, ...]) -> str:
    return "".join(f"--policy-{number}:{color};" for number, color in enumerate(colors))


STYLE_SHEET = f"""
:root {{
  color-scheme: light dark; --ink:#1b1f24; --paper:#ffffff; --grid:#d0d7de; --shade:68,119,170; {_colors(LIGHT)}
}}
@media (prefers-color-scheme: dark) {{
  :root {{ --ink:#e6edf3; --paper:#0d1117; --grid:#3d444d; --shade:136,187,238; {_colors(DARK)} }}
}}
body {{ margin:0; background:var(--paper); color:var(--ink); font:16px/1.5 system-ui, sans-serif; }}
main {{ max-width:60rem; margin:0 auto; padding:1.5rem; }}
h1 {{ font-size:1.6rem; margin:0; }}
h2 {{ font-size:1.2rem; margin:2rem 0 .5rem; }}
h3 {{ font-size:1rem; margin:1.5rem 0 .25rem; }}
figure {{ margin:0; }}
figure svg {{ width:100%; height:auto; }}
figure svg text {{ font-family:system-ui, sans-serif !important; }}
.wide {{ overflow-x:auto; }}
table {{ border-collapse:collapse; margin:.5rem 0 1.5rem; font-variant-numeric:tabular-nums; }}
th, td {{ padding:.15rem .75rem; border-bottom:1px solid var(--grid); text-align:right; font-weight:normal; }}
th[scope=row], th:first-child {{ text-align:left; }}
tr:first-child th {{ font-weight:600; }}
.moves td {{ background:rgba(var(--shade), calc(var(--share) * .7)); }}
"""
