"""Texts that stores have changed, cut, refused or choked on."""

# ruff: noqa: RUF001 - look-alike characters are what some of these texts are about

from __future__ import annotations

from typing import Final

__all__ = ["EXACT", "HOSTILE", "SCRIPTS", "WORDLESS"]

EXACT: Final = (
    "one line",
    "  spaces before and after  ",
    "windows\r\nold mac\runix\n\n\ttabbed\n",
    "---\nstatus: open\n---\nlooks like front matter",
    "# a heading\n\n- a list\n```\ncode\n```\n<!-- a comment -->",
    '{"looks": ["like", "json", null]}',
    "null",
    "0",
    "NaN",
    "true",
    "'; DROP TABLE records; --",
    "quotes \" ' ` and \\ backslashes \\n \\u0041 %s {0} ${HOME} $$",
    "composed \u00e9 and decomposed e\u0301",
    "→ Ж 😀 👩‍👩‍👧 กำ \u202eright to left\u202c",
    "zero\u200bwidth, \u00a0no-break, \u2028line separator, \ufeffmark",
    "bell \x07, escape \x1b[31m, delete \x7f",
    "ﬁ ẞ İ ı Ａ",
)
"""Stored and returned character by character."""

HOSTILE: Final = (
    *("don't", "it''s", "multi-agent", "a/b", "text:x", "content:tea", "a:b:c", "C++", "x.y.z", "a,b"),
    *("(", ")", "()", '"', '""', '"tea', 'tea"', "'", "`", "[", "]", "{", "}", "<", ">", "\\", "\\\\"),
    *("NEAR(", "NEAR(tea, 2)", "tea AND", "AND tea", "OR", "NOT", "tea NOT", "tea OR OR tea", "AND"),
    *("^tea", "--flag", "-", "-tea", "+tea", "tea*", "*tea", "*", "?", "te?", "~tea", "tea~1", "tea^2"),
    *("%", "_", "%tea%", "t_a", ";", "tea;", "'; DROP TABLE records; --", "/* tea */", "SELECT * FROM tea"),
    *("$where", "${HOME}", "$$", "%s %d", "{0}", "&&", "||", "!", "!tea", "@tea", "#tea", "=", "tea=1"),
    *("null", "None", "nan", "0", "1e999", "true", "..", "../tea", "C:\\tea", "a\tb\nc", "\x01\x1b[31m"),
    *("\u200b", "\ufeff", "🍵", "ﬁ", "\u0301", "\u202e", "\U000e0001", "\ufffd", "x" * 5_000),
)
"""Query texts that have raised a syntax error, or the name of a column, somewhere."""

WORDLESS: Final = ("?", "*", '"', "...", "--", "( )", "。", "%")
"""Query texts without a single word."""

SCRIPTS: Final = {
    "我最喜欢的咖啡店在北京的胡同里": "咖啡店",
    "私はPythonを使う": "Python",
    "東京タワーに行きました": "タワー",
    "나는 서울에서 커피를 마신다": "커피",
    "ฉันชอบดื่มกาแฟทุกวัน": "กาแฟ",
    "я пью чай": "чай",
    "πίνω τσάι": "τσάι",
    "أنا أشرب الشاي": "الشاي",
    "אני שותה תה": "תה",
    "मैं चाय पीता हूँ": "चाय",
}
"""A text in each script, and a word of it to ask for."""
