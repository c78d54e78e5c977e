from hypothesis import given
from hypothesis import strategies as st

from builders import node, pod, snapshot_of
from moorage.plugins.upstream.image_locality import ImageLocality
from plugin_runs import scores

MIB = 1024 * 1024


def test_score_grows_with_image_size_and_the_share_of_nodes_with_the_image() -> None:
    nodes = [node(f"n{index}", images={"app:1": 500 * MIB} if index < 3 else None) for index in range(10)]

    found = scores(ImageLocality(), pod(image="app:1"), snapshot_of(nodes))

    assert found == {f"n{index}": 12 if index < 3 else 0 for index in range(10)}


def test_node_scores_0_for_a_small_image_and_100_for_a_huge_image() -> None:
    small, huge = node("small", images={"app:1": 22 * MIB}), node("huge", images={"big:1": 4000 * MIB})

    assert scores(ImageLocality(), pod(image="app:1"), snapshot_of([small])) == {"small": 0}
    assert scores(ImageLocality(), pod(image="big:1"), snapshot_of([huge])) == {"huge": 100}


def test_image_name_without_a_tag_means_latest() -> None:
    cluster = snapshot_of([node("n", images={"registry:5000/app:latest": 1000 * MIB})])

    assert scores(ImageLocality(), pod(image="registry:5000/app"), cluster) == {"n": 100}


def test_image_volume_adds_its_size_but_does_not_raise_the_maximum_size() -> None:
    cluster = snapshot_of([node("n", images={"app:1": 300 * MIB, "model:1": 300 * MIB})])
    volumes = {"volumes": [{"name": "model", "image": {"reference": "model:1"}}]}

    with_volume = scores(ImageLocality(), pod(image="app:1", spec=volumes), cluster)

    assert with_volume == {"n": 100 * (600 - 23) // (1000 - 23)}


IMAGES = ("app:1", "app:2", "side:1")
image_sets = st.dictionaries(st.sampled_from(IMAGES), st.integers(1, 3000 * MIB), max_size=3)


@given(st.lists(image_sets, min_size=1, max_size=4), st.lists(st.sampled_from(IMAGES), min_size=1, max_size=3))
def test_score_agrees_with_a_check_of_each_node(images: list[dict[str, int]], wanted: list[str]) -> None:
    nodes = [node(f"n{index}", images=each) for index, each in enumerate(images)]
    incoming = pod(containers=[{"name": f"c{index}", "image": image} for index, image in enumerate(wanted)])
    sizes = {name: next(each[name] for each in images if name in each) for name in set().union(*images)}

    def score(on: dict[str, int]) -> int:
        total = 0
        for name in wanted:
            if name in on:
                spread = sum(name in each for each in images) / len(images)
                total += int(float(sizes[name]) * spread)
        most = 1000 * MIB * len(wanted)
        return 100 * (min(max(total, 23 * MIB), most) - 23 * MIB) // (most - 23 * MIB)

    expected = {f"n{index}": score(each) for index, each in enumerate(images)}
    assert scores(ImageLocality(), incoming, snapshot_of(nodes)) == expected
