# SPDX-License-Identifier: Apache-2.0
"""Draws throughput and CPU per GiB as bars, with gnuplot."""
import subprocess

import report

STREAMS = (1, 4, 64)
# By number of streams, light to dark; Ferry's rows in another hue.
FERRY_COLORS = (0xF4B183, 0xE67E22, 0xA04000)
PEER_COLORS = (0xAEC6DF, 0x5B8DB8, 0x1F4E79)
BAR = 0.26
WIDTH = 1500
ROW_HEIGHT = 62
MARGINS = 170

PANEL = """
set title "{title}"
set xrange [0:{high:.4g}]
plot $bars{number} using 1:2:(0):1:3:4:5 with boxxyerror lc rgb variable \\
       notitle, \\
     $bars{number} using 1:2:6 with labels left offset 0.6,0 \\
       font ",9" notitle{legend}
"""

SCRIPT = """
set terminal pngcairo size {width},{height} font "DejaVu Sans,11"
set output "{output}"
{data}
set multiplot layout 1,2 title "{title}" font ",14"
set style fill solid 1.0 noborder
set yrange [{rows}:-1]
set ytics ({ytics}) scale 0
set grid xtics
set border 3
set bmargin 4
set lmargin 22
set key at screen 0.5,0.03 center horizontal
{panels}
unset multiplot
"""


def bars(peers, records, figure):
    """Lines of: value, middle, bottom, top, colour, label."""
    lines = []
    for row, peer in enumerate(peers):
        colors = FERRY_COLORS if peer.name.startswith("ferry") else PEER_COLORS
        for index, streams in enumerate(STREAMS):
            value = report.median(records, peer.name, f"{figure}_{streams}")
            if value is None or (figure == "cpu" and peer.kind == "limit"):
                continue
            middle = row + (index - 1) * BAR
            lines.append((value, f"{value:.4f} {middle:.3f} "
                          f"{middle - BAR / 2:.3f} {middle + BAR / 2:.3f} "
                          f"{colors[index]} {value:.2f}"))
    return lines


def legend():
    """Boxes without data, to name the shades."""
    entries = []
    for index, streams in enumerate(STREAMS):
        word = "stream" if streams == 1 else "streams"
        entries.append(f"1/0 with boxes lc rgb {PEER_COLORS[index]} "
                       f'title "{streams} {word}"')
    return ", \\\n     " + ", \\\n     ".join(entries)


def script(peers, records, output, title):
    data, panels = "", ""
    for number, (figure, name) in enumerate((
            ("gibs", "GiB/s (more is better)"),
            ("cpu", "CPU seconds per GiB, both relays (less is better)"))):
        lines = bars(peers, records, figure)
        data += f"$bars{number} << EOD\n"
        data += "\n".join(text for _, text in lines) + "\nEOD\n"
        high = 1.12 * max((value for value, _ in lines), default=1)
        panels += PANEL.format(title=name, number=number, high=high,
                               legend=legend() if number == 0 else "")
    ytics = ", ".join(f'"{peer.name}" {row}'
                      for row, peer in enumerate(peers))
    return SCRIPT.format(width=WIDTH, output=output, data=data, title=title,
                         height=MARGINS + ROW_HEIGHT * len(peers),
                         rows=len(peers), ytics=ytics, panels=panels)


def draw(peers, records, output, title):
    subprocess.run(["gnuplot"], input=script(peers, records, output, title),
                   text=True, check=True)
