"""The colours of the notebook's pictures and highlights."""

# From Okabe and Ito's palette: told apart with any kind of colour vision.
BLUE, RED, GREEN = "#0072b2", "#d55e00", "#009e73"
PALE_BLUE = "#9cc4de"
GREY = "#d0d0d0"
TEXT = "#333333"
