"""Checks source articles: queries each gives, and repeats of a marked name that stand unmarked.

Run ``python tests/corpus/check_articles.py tests/corpus/articles/*.txt``.
"""

import re
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.corpus.markup import SourceArticle, parse_article
from udfs.cloze import ClozeArticle, ClozeRules, make_cloze
from udfs.sentence_split import split_sentences
from udfs.spans import Mention
from udfs.story_text import parse_story

PAPER = ClozeRules(min_first_part_tokens=100, min_first_part_entities=4, min_sentence_tokens=10, overlap_ngram=3)


def cloze_of(article: SourceArticle) -> ClozeArticle:
    """The article's passage and queries by its gold mentions."""
    story = parse_story(article.text)
    ids = {e: i for i, e in enumerate(dict.fromkeys(m.entity for m in article.mentions))}
    mentions = [Mention(m.start, m.end, ids[m.entity], m.type) for m in article.mentions]
    sentences = split_sentences(article.text, story.paragraphs)
    return make_cloze(article.text, story.paragraphs, story.highlights, sentences, mentions, PAPER)


def unmarked_repeats(article: SourceArticle) -> list[str]:
    """Places where a marked surface, or a person's last name, stands again outside every mark."""
    surfaces = {article.text[m.start : m.end] for m in article.mentions}
    surfaces |= {article.text[m.start : m.end].split()[-1] for m in article.mentions if m.type == "PERSON"}
    found = []
    for surface in sorted(surfaces, key=len, reverse=True):
        for match in re.finditer(rf"(?<!\w){re.escape(surface)}(?!\w)", article.text):
            if not any(m.start < match.end() and match.start() < m.end for m in article.mentions):
                found.append(article.text[max(0, match.start() - 25) : match.end() + 25].replace("\n", " "))
    return sorted(set(found))


def main(paths: list[str]) -> None:
    total = 0
    for path in map(Path, paths):
        article = parse_article(path)
        cloze = cloze_of(article)
        reasons = Counter(s.reason or "kept" for s in cloze.sentences)
        kept = [q for q in cloze.queries if q.keep]
        total += len(kept)
        passage = cloze.passage
        print(
            f"{path.stem}: {len(article.text.split())} tokens, first part {passage.first_part_tokens} tokens / "
            f"{passage.first_part_entities} entities ({passage.reason or 'kept'}); sentences {dict(reasons)}; "
            f"queries {len(kept)} ({len(cloze.queries) - len(kept)} lost to 3-gram overlap), "
            f"{len({q.cluster for q in kept})} different answers"
        )
        for place in unmarked_repeats(article):
            print(f"    unmarked? …{place}…")
    print(f"{total} queries")


if __name__ == "__main__":
    main(sys.argv[1:])
