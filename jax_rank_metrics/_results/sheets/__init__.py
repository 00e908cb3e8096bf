"""The contents of a table before and in each format.

export.py   numbers as CSV, JSON and fixed-point text
sheet.py    the contents of a table, before it has a format
layouts.py  a sheet as text, Markdown and HTML
latex.py    a sheet as LaTeX
"""
