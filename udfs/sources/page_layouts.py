"""The layouts of CNN's and Daily Mail's article pages, as tables of selectors.

"rc-data" are the selectors of the public script that made CNN/Daily Mail (deepmind/rc-data); the others were
seen in pages of the year given. Selectors are CSS; a class is compared as a whole word.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the parts of an article stand in the pages of some years.

    The page has the layout if ``mark`` is found. Paragraphs stand in the first of ``bodies`` that holds any:
    ``<p>``, or elements of ``paragraph_class``; with ``has_lists`` also items of lists. Bullets are the
    elements ``bullets`` or, with ``lead``, the items of the lists in it before the first paragraph.
    """

    name: str
    publisher: str
    mark: str
    bodies: tuple[str, ...]
    bullets: str = ""
    lead: str = ""
    paragraph_class: str = ""
    has_lists: bool = False


_CNN_BULLETS = ", ".join(
    (
        ".el__storyhighlights__list li",  # rc-data; 2014 on
        ".cnnStryHghLght li",  # rc-data; 2009-2014
        "#cnnHeaderRightCol li",  # rc-data; to 2009
    )
)
_CNN_BODIES = (
    ".cnnContentContainer, .l-container, .cnn_strycntntlft",  # rc-data; a paragraph in two of them is one paragraph
    "#cnnContentContainer",  # from 2010 on it is an id, around cnn_strycntntlft
)
_MAIL = ".article-text, #js-article-text"  # rc-data; the id stands at the same element since 2012

# The first that fits counts: later pages keep class names of earlier ones.
LAYOUTS = (
    Layout(
        "cnn_2022",  # 2022 on, and older articles that were served anew since
        "CNN",
        mark=".article__content",
        bodies=(".article__content",),
        # Its style sheet knows "highlights"; most pages of these years have no bullets.
        bullets=f".highlights li, {_CNN_BULLETS}",
        has_lists=True,
    ),
    Layout(
        "cnn_2016",  # 2015 to 2022: the first paragraph is a <p>, the others are <div>
        "CNN",
        mark=".zn-body__paragraph",
        bodies=("#body-text, .zn-body-text", ".l-container"),
        bullets=_CNN_BULLETS,
        paragraph_class="zn-body__paragraph",
    ),
    Layout(
        "daily_mail_2015",  # 2015 on: the heading is <h2>, since 2021 <h1> again
        "Daily Mail",
        mark='.article-text [itemprop="articleBody"], #js-article-text [itemprop="articleBody"]',
        bodies=('.article-text [itemprop="articleBody"], #js-article-text [itemprop="articleBody"]',),
        lead=_MAIL,
        has_lists=True,  # of the same class as the bullets above the text
    ),
    Layout("daily_mail_2010", "Daily Mail", mark=_MAIL, bodies=(_MAIL,), lead=_MAIL, has_lists=True),
    Layout(
        "cnn_2010",  # to 2014
        "CNN",
        mark=".cnn_strycntntlft, .cnnContentContainer, #cnnContentContainer",
        bodies=_CNN_BODIES,
        bullets=_CNN_BULLETS,
        has_lists=True,
    ),
    Layout("cnn_2015", "CNN", mark=".l-container", bodies=_CNN_BODIES, bullets=_CNN_BULLETS),
)

# --- what is no text of the article, wherever it stands in it

CLUTTER_TAGS = frozenset(
    "script style noscript template iframe object embed audio video picture svg canvas figure figcaption form button "
    "select textarea input nav aside footer h1 h2 h3 h4 h5 h6".split()
)
# Whole words of a class.
CLUTTER_CLASSES = frozenset(
    "ad adHolder cn gallery highlights html-embed image source byline editor-note imageCaption artSplitter moduleFull "
    "count-number count-text video-item-title linkButtonRow floatRHS "
    "cnnStoryElementBox cnnStoryPhotoBox cnnTopics cnnEditorialNote cnnWsnr cnnExplainer cnnByline SandboxRoot "
    "cnn_html_slideshow cnn_stryathrtmp media__caption pg-body__social "
    "mol-article-quote mol-ads-label shareArticles author-section".split()
)
# Beginnings of a word of a class or of an id: the rest numbers them or names their parts.
CLUTTER_BEGINNINGS = (
    *("twitter-tweet", "instagram-media", "fb-post", "fb-video", "tiktok-embed", "taboola", "OUTBRAIN"),
    *("metadata", "pullquote", "byline-plain", "byline-section", "column-content", "reader-comments"),  # rc-data
    *("cnnStryHghLght", "cnnHeaderRightCol", "cnn_strybtntools", "cnn_stryshrwdgt", "cnnOverlay", "cnnShare"),
    *("el__embedded", "el__storyhighlights", "el__article", "zn-body__read-more", "ad-slot", "ad-feedback"),
    *("related-", "video-resource", "mol-img", "mol-video", "mol-embed", "mol-factbox"),
    *("article-icon", "articleIcon", "article-timestamp", "social-links", "socialLinks", "external-source-links"),
)
# Bullets that are none: the list's heading, the link to the next article (rc-data).
NO_BULLET_CLASSES = frozenset({"cnnHiliteHeader", "cnnNextStory"})
NO_BULLET = re.compile(r"(?:story highlights|next article in\b.*)$", re.IGNORECASE)
# An item of a list of buttons: "Share", "1.2k shares", "E-mail".
BUTTON = re.compile(
    r"(?:[\d.,]+k?\s*)?(?:share[sd]?(?: this)?|tweet|e-?mail|print|comments?|save|facebook|twitter|pinterest|google\+?|"
    r"whatsapp|linkedin|reddit|flipboard|more sharing|recommend|view comments|add comment)\W*$",
    re.IGNORECASE,
)
# "Washington (CNN) -- " where an article begins: what stands before is an editor's note. rc-data takes "(CNN)"
# anywhere in the second paragraph.
DATELINE = re.compile(r"(?:[A-Z][^()]{0,60} )?\(CNN[^)]{0,20}\) ?(?:--|[-–—A-Z\"'“‘])")
# What stands above an article's first paragraph without being one, in pages that have no class for it.
BYLINE = re.compile(r"(?:By\b.{0,80}|(?:PUBLISHED|UPDATED|CREATED|Published|Updated|Last updated)(?: at)?\b.*)$")
# Pointers elsewhere, by how they begin; the first line is rc-data's.
PROMOTION = re.compile(
    r"(?:(?:READ|Read|MORE):|Join us (?:at|on)\b|Read CNNOpinion|SPOILER ALERT:|Follow us\b"
    r"|(?:READ|WATCH|SEE|Read|Watch|See) (?:MORE|ALSO|more|also):|(?:More|WATCH|Watch|RELATED|Related|OPINION|Opinion):"
    r"|(?:SCROLL DOWN|Scroll down)\b.{0,80}$|(?:CLICK HERE|Click here) (?:TO|FOR|to|for)\b.{0,120}$"
    r"|(?:Read|READ|View|Show) (?:[Mm]ore|MORE)$|Advertisement$|ADVERTISEMENT$|Story continues below\b)"
)
# The same within a paragraph, as an element of its own: <b>READ: ...</b> behind the text.
PROMOTION_ELEMENT = re.compile(r"(?:READ|Read|MORE|More|WATCH|RELATED|Related|OPINION)(?: MORE| ALSO| more| also)?:")
PROMOTED_ACCOUNT = "@CNNOpinion"  # rc-data

# --- pages that are no article

# Many short notes under one address, each with a time: no body with a beginning and an end.
LIVE_BLOG = re.compile(r'"@type"\s*:\s*\[?\s*"LiveBlogPosting"')
# A page that says so of itself holds the beginning only, as far as can be told.
NOT_FREE = re.compile(r'"isAccessibleForFree"\s*:\s*"?[Ff]alse\b')
VIDEO = 'meta[property="og:type"][content^="video"]'
OTHER_KIND_IN_URL = re.compile(r"/(videos?|gallery|galleries|interactive|profiles)/")
# Consulted where no article was found, to say why.
ERROR_TITLE = re.compile(
    r"\W*(?:(?:error\W*)?[45]\d\d\b|.{0,40}\b(?:page|file|article|site|service) (?:was |is |could )?(?:temporarily )?"
    r"(?:not (?:be )?found|not available|no longer available|unavailable|moved)\b|not found\b|access denied|forbidden|"
    r"before you continue|just a moment|attention required|are you a (?:robot|human)|bad gateway|"
    r"(?:cookie|privacy)s? (?:consent|settings|policy|notice|choices)|(?:your )?consent\b|subscribe (?:to|now)\b|"
    r"(?:internet archive )?wayback machine)",
    re.IGNORECASE,
)
