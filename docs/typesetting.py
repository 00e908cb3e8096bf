"""Typesets the formulas of docstrings, which are plain text for `help`, as TeX."""

import re

# What stands between terms; a fraction whose denominator is a sum ends there.
BETWEEN_TERMS = ("+", "−", "=", ",", "≤", "≥", "∈", ":", "if", "and", "else", "\n")
SYMBOLS = {
    **{"Σ": r"\sum", "Π": r"\prod", "·": r"\cdot ", "−": "-", "\n": r"\\" + "\n"},
    **{"if": r"\ \text{if}\ ", "and": r"\ \text{and}\ ", "else": r"\ \text{else}\ "},
}
OPEN, CLOSED = "([{", ")]}"


def parts(text):
    """Returns the factors and operators of a formula; brackets stay in one factor."""
    found, depth, factor, is_absolute = [], 0, "", False
    for letter in text:
        is_absolute ^= letter == "|"
        depth += (letter in OPEN) - (letter in CLOSED)
        if depth or is_absolute or letter not in " ·/,\n":
            factor += letter
            continue
        found += [factor, letter]
        factor = ""
    return [part for part in (*found, factor) if part.strip(" ")]


def inner(factor):
    """Typesets what stands in the brackets of a factor; subscripts have no fractions."""
    start = re.search(
        r"[(\[]", re.sub(r"\{[^{}]*\}", lambda x: "_" * len(x[0]), factor)
    )
    if start is None or (end := matching(factor, start.start())) is None:
        return words(factor)
    head, tail = factor[: start.start()], factor[end + 1 :]
    body = tex(factor[start.start() + 1 : end])
    if head == "√":
        return rf"\sqrt{{{body}}}{inner(tail)}"
    if not head and not tail and re.fullmatch(r"\\frac\{(.*)\}", body) and whole(body):
        return body
    return f"{words(head)}{factor[start.start()]}{body}{factor[end]}{inner(tail)}"


def whole(fraction):
    """Tells whether a text that begins with a fraction is that fraction alone."""
    above = matching(fraction, len(r"\frac"))
    return matching(fraction, above + 1) == len(fraction) - 1


def matching(text, start):
    """Returns where the bracket at `start` is closed, or None."""
    depth = 0
    for index in range(start, len(text)):
        depth += (text[index] in OPEN) - (text[index] in CLOSED)
        if depth == 0:
            return index
    return None


def words(text):
    """Sets words upright, and writes symbols as TeX."""
    text = re.sub(r"[A-Za-z]{2,}|[A-Z](?=@)", r"\\mathrm{\g<0>}", text)
    text = re.sub(r"\\mathrm\{(min|max|ln)\}", r"\\\1", text)
    return re.sub(r"[ΣΠ·−]", lambda found: SYMBOLS[found[0]] + " ", text)


def bare(part):
    """Returns a typeset factor without the parentheses around all of it."""
    is_group = part[:1] == "(" and matching(part, 0) == len(part) - 1
    return part[1:-1] if is_group else part


def tex(formula):
    """Writes a formula of a docstring as TeX: fractions, upright words, large sums."""
    typeset, start, source = [], 0, parts(formula)  # `start` is that of the term
    while source:
        part = source.pop(0)
        if part == "/":
            is_sum = source[0].startswith("Σ")
            has_sum = any(x.startswith((r"\sum", r"\prod")) for x in typeset[start:])
            first, last = -1 if has_sum and not is_sum else start, 1
            if is_sum:
                last = next(
                    (i for i, x in enumerate(source) if x in BETWEEN_TERMS), len(source)
                )
            above = " ".join(typeset[first:])
            below = " ".join(SYMBOLS.get(x) or inner(x) for x in source[:last])
            typeset[first:] = [rf"\frac{{{bare(above)}}}{{{bare(below)}}}"]
            source = source[last:]
            continue
        typeset.append(SYMBOLS.get(part) or inner(part))
        if part in BETWEEN_TERMS:
            start = len(typeset)
    return " ".join(typeset)


def typeset_power(found):
    """Returns a power in the prose as mathematics."""
    base, exponent = found[1], found[2].replace("−", "-").replace("_", r"\_")
    exponent = exponent if len(exponent) < 3 else rf"\text{{{exponent}}}"
    return rf":math:`{base}^{{{exponent}}}`"


def prose(line, formula):
    """Sets the symbols of a formula in a line below it as mathematics."""
    symbols = {
        *re.findall(r"[A-Za-z]+_(?:[a-zA-Z0-9]|\{\w+\})|[A-Za-z]+\([a-z]\)", formula)
    }
    symbols |= {*re.findall(r"(?<!\w)[B-Zb-zα-ωℓ](?![\w^])", formula)}
    for symbol in sorted(symbols, key=len, reverse=True):
        name = re.escape(re.sub(r"[{}]", "", symbol))
        around = rf"(?<![\w`^_/·@.\-{{]){name}(?![\w`^_@(*⁺⁰/·}}]|[.-]\w)"
        pieces = re.split(r"(:math:`[^`]*`|`[^`]*`)", line)
        pieces[::2] = [
            re.sub(around, lambda _, x=symbol: f":math:`{words(x)}`", piece)
            for piece in pieces[::2]
        ]
        line = "".join(pieces)
    power = r"(?<![\w`.])(\w+)\^(−?\w+)(?![\w`(·*])"  # such as 2^label
    pieces = re.split(r"(:math:`[^`]*`|`[^`]*`)", line)
    pieces[::2] = [re.sub(power, typeset_power, piece) for piece in pieces[::2]]
    line = "".join(pieces)
    return re.sub(r"^( *)(:math:)", r"\1\\ \2", line)  # which is no field of a list


def docstring(lines):
    """Returns the lines of a docstring in which formulas are TeX."""
    typeset, formula, is_formula, is_below = [], "", False, False
    for line in [*lines, ""]:
        directive, is_math, start = line.partition(".. math::")
        if is_math:
            formula, is_formula, is_below = start.strip(), True, False
        elif is_formula and (not line.strip() and not formula):
            continue
        elif is_formula and line[:1] == " ":
            formula += ("\n" if formula else "") + line.strip()
        elif is_formula:
            # One equation a line: two do not fit on a telephone.
            formula = re.sub(r", (?=[A-Z]\w*(?:\(\w\)|@k)? = |[nr] = )", ",\n", formula)
            indented = tex(formula).replace("\n", "\n    ").split("\n")
            typeset += [".. math::", "", f"    {indented[0]}", *indented[1:], "", line]
            is_formula, is_below = False, True
        else:
            is_below &= not re.match(r"Undefined|Has no|:\w+|\.\.", line)
            typeset.append(prose(line, formula) if is_below else line)
    return typeset
