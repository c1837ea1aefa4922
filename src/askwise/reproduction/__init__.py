"""Turns the rows of a reproduction into figures, tables and one self-contained HTML page.

Needs the extra `report`: `pip install 'askwise[report]'`.
"""

from pathlib import Path

from askwise._support.extras import need
from askwise.reproduction.summary import Summary
from askwise.reproduction.tables import write_tables
from askwise.simulation.experiments.results import Reproduction

__all__ = ["write_reproduction"]


def write_reproduction(reproduction: Reproduction, folder: Path) -> None:
    """Write the report on a reproduction of the paper's experiment into a folder.

    figure1.svg, figure1.png   gain against price
    figure1.csv, regret.csv    the rows behind the figures
    run.json                   how it was made, and how long each run took
    index.html                 all of it on one page, which needs no other file and no network
    """
    for package in ("matplotlib", "jinja2", "markupsafe"):
        need(package, "report")  # before anything is written
    from askwise.reproduction.drawing import save, style
    from askwise.reproduction.figures import gain_against_price
    from askwise.reproduction.page import render_page

    summary = Summary(reproduction)
    page = render_page(summary)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with style(text=False):
        figure = gain_against_price(summary)
        save(figure, folder / "figure1.svg")
        save(figure, folder / "figure1.png")
    write_tables(reproduction, folder)
    (folder / "index.html").write_text(page, encoding="utf-8", newline="\n")
