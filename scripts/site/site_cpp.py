"""The reference of C++ and C from Doxygen's XML."""

import itertools
import re
import shutil
import subprocess
import textwrap
from xml.etree import ElementTree

from site_links import ROOT, write

XML = ROOT / "build" / "site" / "doxygen" / "xml"
SETTINGS = """
INPUT = include/tapline
FILE_PATTERNS = *.hpp *.h
USE_MDFILE_AS_MAINPAGE =
OUTPUT_DIRECTORY = build/site/doxygen
GENERATE_HTML = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
"""

HEADERS = ("convolve", "image", "problem", "plan", "stream", "depthwise", "types", "error", "info")


def run_doxygen():
    shutil.rmtree(XML, ignore_errors=True)
    XML.parent.mkdir(parents=True, exist_ok=True)
    settings = (ROOT / "docs" / "Doxyfile").read_text() + SETTINGS
    subprocess.run(["doxygen", "-"], input=settings, text=True, cwd=ROOT, check=True)


def _compound(name):
    compound = ElementTree.parse(XML / f"{name}.xml").getroot().find("compounddef")
    assert compound is not None
    return compound


# Descriptions --------------------------------------------------------------------------------------------------------------------


def _escaped(text):
    return re.sub(r"([*`|_\\])", r"\\\1", text or "")


_BLOCKS = ("verbatim", "preformatted", "itemizedlist", "orderedlist", "simplesect", "parameterlist")


def _pieces(node):
    """(is a block, text) in the order in which they stand."""
    yield False, _escaped(node.text)
    for child in node:
        text = "".join(child.itertext()).strip()
        if child.tag in _BLOCKS:
            yield True, _block(child)
        elif child.tag == "computeroutput":
            yield False, f"``{text}``"
        elif child.tag in ("emphasis", "bold"):
            mark = "*" if child.tag == "emphasis" else "**"
            yield False, f"{mark}{text}{mark}"
        else:
            yield from _pieces(child)
        yield False, _escaped(child.tail)


def _block(node):
    if node.tag in ("verbatim", "preformatted"):
        return "::\n\n" + textwrap.indent(textwrap.dedent("".join(node.itertext()).strip("\n")), "   ")
    if node.tag in ("itemizedlist", "orderedlist"):
        return "\n".join("- " + textwrap.indent(_description(item), "  ").strip() for item in node.findall("listitem"))
    return _description(node)


def _description(*nodes):
    """Paragraphs of reStructuredText, with what Doxygen took for code as code."""
    blocks: list[str] = []
    for node in nodes:
        for para in [] if node is None else node.findall("para"):
            for is_block, pieces in itertools.groupby(_pieces(para), key=lambda piece: piece[0]):
                texts = [text for _, text in pieces]
                blocks += texts if is_block else [" ".join("".join(texts).split())]
    return "\n\n".join(block for block in blocks if block)


def _said(member):
    return _description(member.find("briefdescription"), member.find("detaileddescription"))


# Declarations --------------------------------------------------------------------------------------------------------------------


def _text(member, tag):
    found = member.find(tag)
    return "" if found is None else " ".join("".join(found.itertext()).split())


def _template(member):
    parameters = member.find("templateparamlist")
    if parameters is None:
        return ""
    named = []
    for parameter in parameters.findall("param"):
        kind, name = _text(parameter, "type"), _text(parameter, "declname")
        named.append(f"{kind} {name}".strip())
    return f"template<{', '.join(named)}> "


def _declared(member, language):
    kind = member.get("kind")
    initial = _text(member, "initializer")
    if kind == "function":
        text = f"{_text(member, 'type')} {_text(member, 'name')}{_text(member, 'argsstring')}"
        text = re.sub(r"\b(TAPLINE_EXPORT|TAPLINE_API|virtual)\b ?", "", text)
        return _template(member) + text.replace("=default", "= default").strip()
    if kind == "typedef":
        return f"{_text(member, 'name')} = {_text(member, 'type')}" if language == "cpp" else _text(member, "definition")
    text = f"{_text(member, 'type')} {_text(member, 'name')}{_text(member, 'argsstring')}"
    return text + (f" {initial}" if initial and language == "cpp" and len(initial) < 60 else "")


_DIRECTIVES = {"function": "function", "variable": "member", "typedef": "type", "friend": "function"}


def _entry(directive, head, body):
    return f".. {directive}:: {head}\n\n{textwrap.indent(body, '   ')}\n"


def _enumeration(member, language):
    values = [_entry(f"{language}:enumerator", _text(value, "name"), _said(value)) for value in member.findall("enumvalue")]
    name = _text(member, "name")
    said = _said(member)
    if not name or name.startswith("@"):  # C's constants, without a type
        return (said + "\n\n" if said else "") + "\n".join(
            _entry("c:macro", _text(value, "name"), f"{_text(value, 'initializer').lstrip('= ')}. {_said(value)}".rstrip())
            for value in member.findall("enumvalue")
        )
    scoped = "enum-class" if language == "cpp" else "enum"
    return _entry(f"{language}:{scoped}", name, said + "\n\n" + "\n".join(values))


def _member(member, language):
    if member.get("kind") == "enum":
        return _enumeration(member, language)
    if member.get("kind") == "define":
        return _entry("c:macro", _text(member, "name"), _said(member))
    return _entry(f"{language}:{_DIRECTIVES[member.get('kind')]}", _declared(member, language), _said(member))


def _is_private(member):
    head = member.get("prot") == "private" or member.get("kind") == "friend" or "detail" in _text(member, "qualifiedname")
    return head or "core::" in _text(member, "argsstring") or re.match(r"operator|~", _text(member, "name")) is not None


def _record(reference, language):
    compound = _compound(reference)
    name = _text(compound, "compoundname").removeprefix("tapline::")
    if "<" in name:
        return ""  # a specialisation
    members = [
        _member(member, language)
        for section in compound.findall("sectiondef")
        for member in section.findall("memberdef")
        if not _is_private(member)
    ]
    kind = compound.get("kind")
    head = _template(compound) + name
    return _entry(f"{language}:{kind}", head, _said(compound) + "\n\n" + "\n".join(members))


def _lead(header):
    """The comment at the head of a header."""
    lines = []
    for line in (ROOT / "include" / "tapline" / header).read_text().splitlines():
        if not line.startswith("//"):
            break
        lines.append(line.removeprefix("//").strip())
    return _escaped(" ".join(lines))


def _cpp_page():
    members = [m for section in _compound("namespacetapline").findall("sectiondef") for m in section.findall("memberdef")]
    parts = [
        "C++\n===\n",
        ".. highlight:: cpp\n",
        "Everything is in namespace ``tapline``; ``#include <tapline/tapline.hpp>`` has all of it. ",
    ]
    parts += [_said(_compound("namespacetapline")) + "\n", ".. cpp:namespace:: tapline\n"]
    for stem in HEADERS:
        title = f"{stem}.hpp"
        file = _compound(f"{stem}_8hpp")
        parts.append(f"{title}\n{'-' * len(title)}\n\n{_lead(title)}\n")
        records = {r.get("refid"): r.text or "" for r in file.findall("innerclass") if "detail" not in (r.text or "")}
        here = []
        for member in members:
            location = member.find("location")
            if location is not None and location.get("file", "").endswith(title) and not _is_private(member):
                here.append((int(location.get("line", "0")), _member(member, "cpp")))
        for reference in records:
            location = _compound(reference).find("location")
            assert location is not None
            here.append((int(location.get("line", "0")), _record(reference, "cpp")))
        parts += [text for _, text in sorted(here)]
    return "\n".join(parts)


def _c_page():
    file = _compound("tapline_8h")
    here = []
    for section in file.findall("sectiondef"):
        for member in section.findall("memberdef"):
            location = member.find("location")
            line = int(location.get("line", "0")) if location is not None else 0
            if _text(member, "name") not in ("TAPLINE_API", "TAPLINE_TAPLINE_H") and member.get("kind") != "typedef":
                here.append((line, _member(member, "c")))
    for record in file.findall("innerclass"):
        location = _compound(record.get("refid")).find("location")
        assert location is not None
        here.append((int(location.get("line", "0")), _record(record.get("refid"), "c")))
    opaque = [_entry("c:type", name, text) for name, text in _OPAQUE.items()]
    lead = f"C\n=\n\n.. highlight:: c\n\n``#include <tapline/tapline.h>``\n\n{_said(file)}\n"
    return "\n".join([lead, *opaque, *[text for _, text in sorted(here)]])


_OPAQUE = {
    "tapline_plan": "A problem with its algorithm chosen and its taps prepared; made by tapline\\_plan\\_create().",
    "tapline_stream": "A signal that arrives in chunks; made by tapline\\_stream\\_create().",
}


def write_cpp():
    run_doxygen()
    write("reference/cpp.rst", _cpp_page())
    write("reference/c.rst", _c_page())
    return [
        ("cpp.rst", "C++", "`tapline.hpp`, from its headers"),
        ("c.rst", "C", "`tapline.h`, for every language that can call C"),
    ]
