"""Curves as an SVG of small multiples: a panel a name, one scale for all, the same grey curve behind each to compare with."""

from xml.sax.saxutils import escape

COLUMNS = 6
WIDTH, HEIGHT = 150, 84  # of a panel's curves
GAP_X, GAP_Y = 14, 30
LEFT, TOP = 40, 44
STYLE = """<style>
text { font: 11px sans-serif; fill: #333 } .title { font-size: 14px } .name { font-weight: bold; fill: #111 }
.frame { fill: none; stroke: #ccc } .grid { stroke: #eee } .behind { fill: none; stroke: #aaa; stroke-width: 1.5 }
.curve { fill: none; stroke: #0b62a4; stroke-width: 1.5 } .none { fill: #999 } .tick { font-size: 9px; fill: #777 }
</style>"""


def ticks(low, high):
    """Three or four round numbers that span low to high."""
    for step in (m * 10.0**e for e in range(-4, 5) for m in (1, 2, 5)):
        if (high - low) / step <= 3:
            first = int(low / step) - (low < 0)
            count = 1
            while (first + count) * step < high - 1e-9 * step:
                count += 1
            return [(first + i) * step for i in range(count + 1)]
    raise ValueError(f"no scale from {low} to {high}")


class Panels:
    """Where numbers lie in a panel."""

    def __init__(self, curves):
        values = [value for curve in curves for value in curve]
        low, high = min(values), max(values)
        self.marks = ticks(low, high if high > low else low + 1)
        self.steps = max(len(curve) for curve in curves)

    def height(self, value):
        return HEIGHT * (1 - (value - self.marks[0]) / (self.marks[-1] - self.marks[0]))

    def line(self, curve, kind):
        width = WIDTH / max(self.steps - 1, 1)
        points = " ".join(f"{i * width:.1f},{self.height(value):.1f}" for i, value in enumerate(curve))
        return f'<polyline class="{kind}" points="{points}"/>'

    def frame(self, has_scale):
        parts = [f'<rect class="frame" width="{WIDTH}" height="{HEIGHT}"/>']
        for mark in self.marks:
            y = self.height(mark)
            parts.append(f'<line class="grid" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
            if has_scale:
                parts.append(
                    f'<text class="tick" x="-4" y="{y + 3:.1f}" text-anchor="end">{mark:.10g}</text>'
                )
        return parts


def small_multiples(title, curves, behind):
    """The SVG of {name: numbers, or a line of text that stands in the panel instead}; `behind` is drawn in every panel."""
    drawn = [curve for curve in curves.values() if not isinstance(curve, str)]
    panels = Panels([*drawn, behind])
    rows = -(-len(curves) // COLUMNS)
    size = (LEFT + COLUMNS * (WIDTH + GAP_X), TOP + rows * (HEIGHT + GAP_Y))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" width="{size[0]}">',
        STYLE,
    ]
    parts.append('<rect width="100%" height="100%" fill="#fff"/>')
    parts.append(f'<text class="title" x="{LEFT}" y="18">{escape(title)}</text>')
    for place, (name, curve) in enumerate(curves.items()):
        x = LEFT + place % COLUMNS * (WIDTH + GAP_X)
        y = TOP + place // COLUMNS * (HEIGHT + GAP_Y)
        parts.append(f'<g transform="translate({x} {y})"><text class="name" y="-5">{escape(name)}</text>')
        parts += panels.frame(has_scale=place % COLUMNS == 0)
        parts.append(panels.line(behind, "behind"))
        if isinstance(curve, str):
            parts.append(f'<text class="none" x="6" y="16">{escape(curve)}</text>')
        else:
            parts.append(panels.line(curve, "curve"))
        parts.append("</g>")
    return "\n".join([*parts, "</svg>", ""])
