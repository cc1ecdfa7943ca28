"""Colours of Okabe and Ito: told apart by every kind of eyes, on light and on dark pages."""

BLUE = "#0f7fc2"
ORANGE = "#d55e00"
GREEN = "#009e73"
