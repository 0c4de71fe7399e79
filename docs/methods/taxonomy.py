"""Draw taxonomy.svg, the tree of the methods, from the table of taxonomy.md:  python3 docs/methods/taxonomy.py

With --check it writes nothing and fails if the picture is not that of the table.
Narrow, so that a phone shows all of it.
"""

from __future__ import annotations

import re
import sys
from html import escape
from pathlib import Path

HERE = Path(__file__).parent
WIDTH, MARGIN, LINE, LETTER = 380, 14, 24, 8.2

# Branches with their formula, and twigs as they are called in the table.
TREE = [
    (
        "Synthesis dictionary",
        "x = D z",
        "#2563ad",
        ["synthesis, shared", "synthesis, class-specific", "synthesis, hybrid"],
    ),
    ("Analysis dictionary", "z = Ω x", "#0f766e", ["analysis, shared", "analysis, class-specific"]),
    ("Dictionary pair", "z = Ω x,  x = D z", "#6d4bb0", ["pair"]),
    ("Representation-based", "x = X z, nothing is learned", "#9a4f12", ["representation"]),
    ("Self-tuning", "", "#a11d4a", ["auto"]),
    ("Baselines", "", "#555b66", ["baseline"]),
]


def places() -> dict[str, list[str]]:
    """The methods of every place, in the order of the table."""
    found: dict[str, list[str]] = {}
    table = (HERE / "taxonomy.md").read_text("utf-8")
    for place, method in re.findall(r"^\| ([a-z, -]+?) \| `([a-z0-9-]+)` \|", table, re.M):
        found.setdefault(place, []).append(method)
    known = [twig for *_, twigs in TREE for twig in twigs]
    strange = sorted(set(found) - set(known))
    if strange:
        raise SystemExit(f"taxonomy.md has places that the tree does not know: {', '.join(strange)}")
    return found


def lines_of(methods: list[str], width: float) -> list[list[str]]:
    """Methods broken into lines."""
    lines: list[list[str]] = [[]]
    used = 0.0
    for method in methods:
        own = chip_width(method) + 6
        if lines[-1] and used + own > width:
            lines.append([])
            used = 0.0
        lines[-1].append(method)
        used += own
    return lines


def chip_width(method: str) -> float:
    return len(method) * LETTER + 12


def draw() -> str:
    found, parts, y = places(), [], 34.0
    for title, formula, color, twigs in TREE:
        twigs = [twig for twig in twigs if twig in found]
        if not twigs:
            continue
        parts.append(f'<text x="{MARGIN}" y="{y:g}" class="branch" fill="{color}">{escape(title)}</text>')
        if formula:
            y += 18
            parts.append(f'<text x="{MARGIN}" y="{y:g}" class="formula">{escape(formula)}</text>')
        top = bottom = y + 7
        for twig in twigs:
            left = MARGIN + 18
            name = twig.partition(", ")[2]
            if name:
                y += LINE
                parts.append(f'<path d="M{MARGIN + 4} {y - 5:g}h10" stroke="{color}"/>')
                parts.append(f'<text x="{left}" y="{y:g}" class="twig">{escape(name)}</text>')
                bottom = y - 5
            for line in lines_of(found[twig], WIDTH - left - MARGIN):
                y += LINE + 3
                x = float(left)
                bottom = bottom if name else y - 5
                for method in line:
                    width = chip_width(method)
                    box = f'x="{x:g}" y="{y - 16:g}" width="{width:g}" height="22" rx="5" stroke="{color}"'
                    text = f'x="{x + 6:g}" y="{y:g}" textLength="{width - 12:g}"'
                    parts.append(f'<rect {box} class="chip"/><text {text} class="method">{escape(method)}</text>')
                    x += width + 6
            y += 4
        parts.append(f'<path d="M{MARGIN + 4} {top:g}V{bottom:g}" stroke="{color}"/>')
        y += LINE + 14
    height = y - LINE
    style = (
        "text{font-family:system-ui,sans-serif;font-size:15px;fill:#1b1f24}"
        ".branch{font-weight:700;font-size:17px}.formula{font-style:italic;fill:#444b55}.twig{font-weight:600}"
        ".method{font-family:ui-monospace,monospace;font-size:14px}.chip{fill:#f5f7fa}path{fill:none;stroke-width:1.5}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" role="img" '
        f'aria-label="The methods by what they learn">\n<style>{style}</style>\n'
        f'<rect width="{WIDTH}" height="{height:g}" fill="#ffffff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def main() -> None:
    picture = HERE / "taxonomy.svg"
    if "--check" not in sys.argv:
        picture.write_text(draw(), "utf-8")
    elif picture.read_text("utf-8") != draw():
        raise SystemExit("taxonomy.svg is not the picture of taxonomy.md: run docs/methods/taxonomy.py")


if __name__ == "__main__":
    main()
