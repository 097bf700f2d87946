"""The timeline of an episode: everything both sides did, cut into tiles and windows, matched again at every shift.

It is matched and scored by the code of `assay@1`. A caller gets plain numbers: a tile is small whatever the episode's
size, because it has single actions only if they are few, and otherwise counts.
"""
