"""Compiled loops between token text, token codes and event columns. One pass, no allocation per event, no GIL.

Text becomes *codes*, one integer per token, and an event's codes become one entry in each column. Token ids from a
tokenizer are mapped to the same codes, so that both go through one grammar.

This package works on bytes and arrays only; `tokens.py` defines what they mean.
"""

from __future__ import annotations

from assay.events.codecs.kernels._grammar import BUTTON as BUTTON
from assay.events.codecs.kernels._grammar import END as END
from assay.events.codecs.kernels._grammar import IMAGE as IMAGE
from assay.events.codecs.kernels._grammar import IMAGE_CLOSE as IMAGE_CLOSE
from assay.events.codecs.kernels._grammar import IMAGE_EDGE as IMAGE_EDGE
from assay.events.codecs.kernels._grammar import IMAGE_OPEN as IMAGE_OPEN
from assay.events.codecs.kernels._grammar import KEYBOARD as KEYBOARD
from assay.events.codecs.kernels._grammar import MAX_BASE as MAX_BASE
from assay.events.codecs.kernels._grammar import MAX_DIGITS_A_NUMBER as MAX_DIGITS_A_NUMBER
from assay.events.codecs.kernels._grammar import MINUS as MINUS
from assay.events.codecs.kernels._grammar import MOUSE as MOUSE
from assay.events.codecs.kernels._grammar import OTHER as OTHER
from assay.events.codecs.kernels._grammar import PLUS as PLUS
from assay.events.codecs.kernels._grammar import PRESS as PRESS
from assay.events.codecs.kernels._grammar import RELEASE as RELEASE
from assay.events.codecs.kernels._grammar import SCREEN as SCREEN
from assay.events.codecs.kernels._grammar import START as START
from assay.events.codecs.kernels._grammar import VK as VK
from assay.events.codecs.kernels._grammar import grammar_array as grammar_array
from assay.events.codecs.kernels.decoding import decode_codes as decode_codes
from assay.events.codecs.kernels.decoding import decode_elements as decode_elements
from assay.events.codecs.kernels.decoding import decode_text as decode_text
from assay.events.codecs.kernels.encoding import encode_text as encode_text
