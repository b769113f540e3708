"""Return types of the UDFs, as Arrow schemas and Spark types from one definition each.

``StructType`` objects: a type string in a decorator would need a live session at import.
"""

from pyspark.sql import types as T

SPAN = T.StructType([T.StructField("start", T.IntegerType()), T.StructField("end", T.IntegerType())])
STAND_OFF_MENTION = T.StructType([*SPAN.fields, T.StructField("cluster", T.IntegerType())])
MENTION = T.StructType([*STAND_OFF_MENTION.fields, T.StructField("type", T.StringType())])
ANSWER = T.StructType([*SPAN.fields, T.StructField("text", T.StringType())])
TOKEN = T.StructType([*SPAN.fields, *(T.StructField(n, T.StringType()) for n in ("pos", "tag", "lemma"))])

LEFT_OUT = T.StructType([T.StructField("reason", T.StringType()), T.StructField("triples", T.LongType())])


def _struct(**columns: T.DataType) -> T.StructType:
    return T.StructType([T.StructField(name, kind) for name, kind in columns.items()])


_STRING, _INT, _BOOL = T.StringType(), T.IntegerType(), T.BooleanType()

ANNOTATION = _struct(
    sentences=T.ArrayType(SPAN),
    tokens=T.ArrayType(TOKEN),
    mentions=T.ArrayType(MENTION),
    unnamed=T.ArrayType(MENTION),
    error=_STRING,
)

SENTENCES = _struct(sentences=T.ArrayType(SPAN), error=_STRING)
TAGGED = _struct(tokens=T.ArrayType(TOKEN), error=_STRING)

CLOZE_PASSAGE = _struct(
    text=_STRING,
    first_part_end=_INT,
    first_part_tokens=_INT,
    first_part_entities=_INT,
    entities=T.ArrayType(MENTION),
    keep=_BOOL,
    reason=_STRING,
)
CLOZE_SENTENCE = _struct(
    start=_INT,
    end=_INT,
    text=_STRING,
    tokens=_INT,
    entities=_INT,
    is_short=_BOOL,
    is_question=_BOOL,
    has_no_entity=_BOOL,
    lacks_precedent=_BOOL,
    is_repeated=_BOOL,
    holds_placeholder=_BOOL,
    keep=_BOOL,
    reason=_STRING,
)
CLOZE_QUERY = _struct(
    sentence_start=_INT,
    sentence_sha1=_STRING,
    query=_STRING,
    placeholder=_INT,
    answer_surface=_STRING,
    cluster=_INT,
    answers=T.ArrayType(ANSWER),
    overlaps=_BOOL,
    keep=_BOOL,
    reason=_STRING,
)
CLOZE_ARTICLE = _struct(
    passage=CLOZE_PASSAGE,
    sentences=T.ArrayType(CLOZE_SENTENCE),
    queries=T.ArrayType(CLOZE_QUERY),
    error=_STRING,
)
