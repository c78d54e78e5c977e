"""The page of a simulation: its content, and how a browser shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from browser import browser
from moorage.simulator.page.moved_tasks import NOT_PLACED, moves_of
from moorage.simulator.simulation import Request, Simulation
from simulator.sim_files import PACK, run

TASKS = (
    "name,cpu_milli,memory_mib,gpu,gpu_models,asked_percent\n"
    "t1,1000,1024,1,,25\nt2,1000,1024,1,,50\nt3,1000,1024,2,,100\nt4,1000,1024,1,G3,125\n"
)
NODES = "name,cpu_milli,memory_mib,gpu,model\na,8000,16384,2,T4\nb,8000,16384,2,T4 <&'\"$x$\n"


def simulation(folder: Path) -> Simulation:
    return run(folder, TASKS, nodes=NODES, policies=PACK, keeps_placements=True)


def page(folder: Path) -> str:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (the extra plots)")
    from moorage.simulator.page.simulation_page import simulation_page

    request = Request(nodes=folder / "nodes.csv", tasks=folder / "tasks.csv", policies=())
    return simulation_page(simulation(folder), request)


def test_moves_are_counted_by_group_and_in_all(tmp_path: Path) -> None:
    (moves,) = moves_of(simulation(tmp_path))
    assert moves.policy == "pack"
    assert moves.groups[-1] == NOT_PLACED
    assert moves.same_node + moves.other_node == 2
    assert (moves.only_baseline, moves.only_policy, moves.neither) == (0, 1, 1)
    assert sum(map(sum, moves.table)) == 4
    assert moves.table[-1][-1] == 1


def test_the_page_names_no_address_to_load_from(tmp_path: Path) -> None:
    text = page(tmp_path)
    assert text.count("<svg") == 3
    assert not re.search(r"<script|<link|<img|@import|url\((?!#)|\b(src|xlink:href|href)=\"(?!#)", text)
    assert set(re.findall(r"https?://[^\s\"'<]+", text)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }


def test_equal_simulations_have_equal_pages(tmp_path: Path) -> None:
    assert page(tmp_path) == page(tmp_path)


def test_names_from_the_files_are_text_on_the_page(tmp_path: Path) -> None:
    text = page(tmp_path)
    assert "T4 <&" not in text
    assert "T4 &lt;&amp;" in text


@pytest.mark.browser
@pytest.mark.parametrize(("scheme", "background"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(13, 17, 23)")])
def test_a_browser_shows_the_plots_and_loads_nothing(tmp_path: Path, scheme: str, background: str) -> None:
    file = tmp_path / "page.html"
    file.write_text(page(tmp_path), encoding="utf-8")
    requests: list[str] = []
    messages: list[str] = []
    with browser() as chromium:
        tab = chromium.new_page(color_scheme=scheme, viewport={"width": 1000, "height": 800})
        tab.on("request", lambda request: requests.append(request.url))
        tab.on("console", lambda message: messages.append(message.text))
        tab.goto(file.as_uri())
        plots = tab.locator("figure svg")
        boxes = [plots.nth(number).bounding_box() for number in range(plots.count())]
        style = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        ink = tab.evaluate("getComputedStyle(document.querySelector('figure svg text')).fill")
        ink_of_body = tab.evaluate("getComputedStyle(document.body).color")
        overflow = tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert requests == [file.as_uri()]
    assert messages == []
    assert len(boxes) == 3
    assert all(box["width"] > 600 and box["height"] > 150 for box in boxes)
    assert style == background
    assert ink == ink_of_body
    assert overflow == 0
