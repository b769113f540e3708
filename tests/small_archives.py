"""Small archives of AllenNLP's model classes, trained by its own trainer on the bundled corpus' gold."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.corpus.lay_out import source_articles, tokenize
from tests.corpus.markup import SourceArticle
from udfs.annotators.allennlp.library import import_allennlp
from udfs.sentence_split import split_sentences
from udfs.spans import Span
from udfs.story_text import parse_story

# One epoch on so little text moves the scores little: they begin spread out, so that much is linked.
_SPREAD_SCORES = [
    ["_mention_scorer.*weight", {"type": "normal", "std": 2.0}],
    ["_antecedent_scorer.*weight", {"type": "normal", "std": 6.0}],
    ["_antecedent_scorer.*bias", {"type": "constant", "val": -0.5}],
]


class SmallArchives(NamedTuple):
    """Paths of the archives."""

    ner: str
    coreference: str


def train_archives(folder: Path, *, articles: int = 10, epochs: int = 8) -> SmallArchives:
    """Trains a CRF tagger, and a coreference model for one epoch.

    Trained for longer on so little text it learns that nothing is linked. After one slow epoch it links much, and
    hardly rightly, which is what a comparison of clusters needs.
    """
    gold = source_articles()[:articles]
    conll_2003, conll_2012 = folder / "ner.txt", folder / "coreference.gold_conll"
    write_conll(gold, conll_2003=conll_2003)
    write_conll(gold[:4], conll_2012=conll_2012)
    return SmallArchives(
        train(ner_parameters(conll_2003, epochs), folder / "ner"),
        train(coreference_parameters(conll_2012, 1), folder / "coreference"),
    )


def write_conll(
    articles: Iterable[SourceArticle], *, conll_2003: Path | None = None, conll_2012: Path | None = None
) -> None:
    """The gold of articles as AllenNLP's readers take it: CoNLL-2003 for names, CoNLL-2012 for coreference."""
    gold = list(articles)
    if conll_2003:
        conll_2003.write_text("".join(map(_conll_2003, gold)))
    if conll_2012:
        conll_2012.write_text("".join(map(_conll_2012, gold)))


def train(parameters: dict[str, Any], folder: Path) -> str:
    """The path of the archive that AllenNLP's trainer makes of ``parameters``."""
    import_allennlp("allennlp.commands.train")
    from allennlp.commands.train import train_model
    from allennlp.common import Params

    train_model(Params(parameters), serialization_dir=str(folder), force=True)
    return str(folder / "model.tar.gz")


def ner_parameters(data: Path, epochs: int) -> dict[str, Any]:
    """Of Peters' tagger without ELMo: words and characters, BiLSTM, CRF."""
    characters = {"type": "cnn", "embedding_dim": 8, "num_filters": 8, "ngram_filter_sizes": [3]}
    embedders = {
        "tokens": {"type": "embedding", "embedding_dim": 24},
        "characters": {"type": "character_encoding", "embedding": {"embedding_dim": 8}, "encoder": characters},
    }
    return {
        "dataset_reader": {
            "type": "conll2003",
            "tag_label": "ner",
            "coding_scheme": "BIOUL",
            "token_indexers": {
                "tokens": {"type": "single_id", "lowercase_tokens": True},
                "characters": {"type": "characters", "min_padding_length": 3},
            },
        },
        "train_data_path": str(data),
        "validation_data_path": str(data),
        "model": {
            "type": "crf_tagger",
            "label_encoding": "BIOUL",
            "dropout": 0.2,
            "text_field_embedder": {"token_embedders": embedders},
            "encoder": {"type": "lstm", "input_size": 32, "hidden_size": 24, "bidirectional": True},
        },
        "data_loader": {"batch_size": 16, "shuffle": True},
        "trainer": _trainer(epochs, 0.005),
    }


def coreference_parameters(data: Path, epochs: int, **of_model: Any) -> dict[str, Any]:
    """Of Lee's model, small; ``of_model`` overrides its options (coarse_to_fine, inference_order, ...)."""
    size = 2 * 2 * 16 + 8 + 24
    feedforward = {"num_layers": 2, "hidden_dims": 24, "activations": "relu", "dropout": 0.0}
    return {
        "dataset_reader": {
            "type": "coref",
            "max_span_width": 6,
            "token_indexers": {"tokens": {"type": "single_id"}},
        },
        "train_data_path": str(data),
        "validation_data_path": str(data),
        "model": {
            "type": "coref",
            "text_field_embedder": {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 24}}},
            "context_layer": {"type": "lstm", "bidirectional": True, "input_size": 24, "hidden_size": 16},
            "mention_feedforward": {"input_dim": size, **feedforward},
            "antecedent_feedforward": {"input_dim": 3 * size + 8, **feedforward},
            "feature_size": 8,
            "max_span_width": 6,
            "spans_per_word": 0.4,
            "max_antecedents": 30,
            "initializer": {"regexes": _SPREAD_SCORES},
            "lexical_dropout": 0.0,
            **of_model,
        },
        "data_loader": {"batch_size": 1, "shuffle": True},
        "trainer": _trainer(epochs, 0.00001),
    }


def _trainer(epochs: int, rate: float) -> dict[str, Any]:
    return {"num_epochs": epochs, "cuda_device": -1, "grad_norm": 5.0, "optimizer": {"type": "adam", "lr": rate}}


class _Words(NamedTuple):
    """A sentence: token spans, and its gold mentions as (first, last token, entity, type)."""

    spans: list[tuple[int, int]]
    mentions: list[tuple[int, int, str, str]]


def _sentences(article: SourceArticle) -> Iterable[_Words]:
    story = parse_story(article.text)
    mentions = article.mentions
    cuts = sorted({p for m in mentions for p in (m.start, m.end)})
    for sentence in split_sentences(article.text, (*story.paragraphs, *story.highlights)):
        yield _words(article, sentence, cuts)


def _words(article: SourceArticle, sentence: Span, cuts: Sequence[int]) -> _Words:
    text = article.text[: sentence.end]
    tokens = [(a, b) for a, b in tokenize(text, [c for c in cuts if c < sentence.end]) if a >= sentence.start]
    first = {a: i for i, (a, _) in enumerate(tokens)}
    last = {b: i for i, (_, b) in enumerate(tokens)}
    inside = [m for m in article.mentions if m.start in first and m.end in last]
    return _Words(tokens, [(first[m.start], last[m.end], m.entity, m.type) for m in inside])


def _conll_2003(article: SourceArticle) -> str:
    lines = []
    for spans, mentions in _sentences(article):
        tags = ["O"] * len(spans)
        for first, last, _, kind in sorted(mentions, key=lambda m: m[0] - m[1]):
            if all(tag == "O" for tag in tags[first : last + 1]):
                tags[first : last + 1] = [f"B-{kind}", *[f"I-{kind}"] * (last - first)]
        lines += [f"{article.text[a:b]} X O {tag}" for (a, b), tag in zip(spans, tags, strict=True)] + [""]
    return "\n".join(lines) + "\n"


def _conll_2012(article: SourceArticle) -> str:
    number: dict[str, int] = {}
    lines = [f"#begin document ({article.article_id}); part 000"]
    for spans, mentions in _sentences(article):
        marks: dict[int, list[str]] = defaultdict(list)
        for first, last, entity, _ in mentions:
            n = number.setdefault(entity, len(number))
            if first == last:
                marks[first].append(f"({n})")
            else:
                marks[first].append(f"({n}")
                marks[last].append(f"{n})")
        for i, (a, b) in enumerate(spans):
            columns = [article.article_id, "0", str(i), article.text[a:b], "XX", "-", "-", "-", "-", "-", "*"]
            lines.append(" ".join([*columns, "|".join(marks[i]) or "-"]))
        lines.append("")
    return "\n".join([*lines, "#end document", ""])
