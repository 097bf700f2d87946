"""Tokens as integers: eight letters are read as one integer, so one or two comparisons identify a token."""

# Numba infers the types of these functions from their arguments; annotations would only duplicate them.
# mypy: ignore-errors

from __future__ import annotations


def _packed(letters: str) -> int:
    """The integer that `_word` returns for these letters (at most 8), followed by zeros."""
    return int.from_bytes(letters.encode(), "little")


def _mask(size: int) -> int:
    return (1 << 8 * size) - 1


# A token longer than eight letters is identified by its first eight and its last eight.
_START_1, _START_2, _START_SIZE = _packed("<EVENT_S"), _packed("T_START>"), 13
_END_1, _END_2, _END_SIZE = _packed("<EVENT_E"), _packed("ENT_END>"), 11
_KEYBOARD_1, _KEYBOARD_2, _KEYBOARD_SIZE = _packed("<KEYBOAR"), _packed("EYBOARD>"), 10
_RELEASE_1, _RELEASE_2, _RELEASE_SIZE = _packed("<release"), _packed("release>"), 9
_PLUS_1, _PLUS_2, _PLUS_SIZE = _packed("<SIGN_PL"), _packed("GN_PLUS>"), 11
_MINUS_1, _MINUS_2, _MINUS_SIZE = _packed("<SIGN_MI"), _packed("N_MINUS>"), 12
_SCREEN_1, _SCREEN_SIZE = _packed("<SCREEN>"), 8
_MOUSE_1, _MOUSE_SIZE = _packed("<MOUSE>"), 7
_PRESS_1, _PRESS_SIZE = _packed("<press>"), 7
_VK_1, _BUTTON_1, _PREFIX_SIZE = _packed("<VK_"), _packed("<MB_"), 4
_OPEN_1, _OPEN_SIZE = _packed("<img>"), 5
_CLOSE_1, _CLOSE_SIZE = _packed("</img>"), 6
_EDGE_1, _EDGE_2, _EDGE_3, _EDGE_4 = (_packed(part) for part in ("<fake_to", "ken_arou", "nd_image", "d_image>"))
_EDGE_SIZE = 25
_MASK_4, _MASK_5, _MASK_6, _MASK_7 = _mask(4), _mask(5), _mask(6), _mask(7)
# Most of a text consists of one-letter digits, so two of them are read at once.
_TWO_DIGITS, _TWO_DIGITS_MASK = _packed("<\0><\0>"), 0xFF00FFFF00FF
_LESS, _GREATER, _ZERO, _NINE = ord("<"), ord(">"), ord("0"), ord("9")
