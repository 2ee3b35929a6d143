"""From an answer's markdown to what stands on the screen: blocks, tables, code, formulas, links. It is hostile text."""
