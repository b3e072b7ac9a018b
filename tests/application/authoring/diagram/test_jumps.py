from __future__ import annotations

import random

from awf.application.authoring.diagram.jumps import too_long
from awf.application.authoring.diagram.layering import back_links


def test_a_picture_of_usual_size_has_no_jumps():
    pairs = [(number, number + 1) for number in range(100)] + [(0, 99), (99, 0)]
    assert too_long(101, pairs, list(range(len(pairs)))) == set()


def test_links_on_one_track_count_once():
    pairs = [(number, number + 1) for number in range(1000)] + [(number, 1000) for number in range(998)]
    tracks = [("on", number) for number in range(1000)] + ["failure"] * 998
    assert too_long(1001, pairs, tracks) == set()


def test_in_a_tangle_the_longest_go_and_every_item_is_still_led_to():
    dice = random.Random(3)
    pairs = [(dice.randrange(400), dice.randrange(400)) for _ in range(1500)]
    gone = too_long(400, pairs, list(range(1500)))
    assert gone
    back = back_links(400, pairs)
    led_to = {target for number, (_, target) in enumerate(pairs) if number not in back}
    still = {target for number, (_, target) in enumerate(pairs) if number not in back | gone}
    assert still == led_to
