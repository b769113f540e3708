"""Reading news articles where they lie: listing, opening, decoding, identity, checks.

``listing`` finds inputs in folders; ``archives`` and ``records`` open those that hold many articles;
``articles`` makes one article, or one reject, of what was read; ``arrow_batches`` runs all of them
on executors. A further format is a line in ``listing.KINDS`` and a module that yields ``RawArticle``.
"""
