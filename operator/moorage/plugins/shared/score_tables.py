"""The scale of the score tables in policies."""

from moorage.framework.extension_points import MAX_NODE_SCORE

MAX_TABLE_SCORE = 10
"""The highest score in a table; the lowest is 0."""
TABLE_UNIT = MAX_NODE_SCORE // MAX_TABLE_SCORE
"""The node score that one point of a table is worth."""
