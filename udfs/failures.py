"""What failed on an executor, in words for a row."""


def error_text(error: Exception) -> str:
    """What a reject says of an article that failed."""
    return f"{type(error).__name__}: {error}"
