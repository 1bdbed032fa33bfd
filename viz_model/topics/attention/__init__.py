"""Attention: which tokens each token reads, head by head, and the arithmetic behind one row."""

from viz_model.island.page import Page, Topic, beside
from viz_model.topics.attention import heads, query

PAGE = Page("attention", items=(beside((heads.draw, heads.source), heads.tell), query.title, query.draw))
TOPIC = Topic("attention", (PAGE,))
