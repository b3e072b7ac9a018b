"""What a file is by its first bytes, when it is no text."""

from __future__ import annotations

__all__ = ["binary_kind", "image_type"]

_BINARY = (
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive (or an Office document, or a Java archive)"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\x1f\x8b", "gzip-compressed data"),
    (b"BZh", "bzip2-compressed data"),
    (b"\xfd7zXZ\0", "xz-compressed data"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed data"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\x7fELF", "an executable (ELF)"),
    (b"\xcf\xfa\xed\xfe", "an executable (Mach-O)"),
    (b"\xca\xfe\xba\xbe", "a Java class or an executable (Mach-O)"),
    (b"\0asm", "a WebAssembly module"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"OggS", "Ogg audio or video"),
    (b"ID3", "MP3 audio"),
    (b"fLaC", "FLAC audio"),
    (b"wOF2", "a web font"),
    (b"wOFF", "a web font"),
    (b"II*\0", "a TIFF image"),
    (b"MM\0*", "a TIFF image"),
    (b"\0\0\x01\0", "an icon"),
)
_ALSO_TEXT = {b"BZh", b"ID3", b"OggS", b"fLaC", b"wOFF", b"wOF2"}  # letters that a text may begin with, too


def image_type(head: bytes) -> str:
    """The media type of a picture that models can look at, or nothing."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else ""


def binary_kind(head: bytes) -> str:
    """In words. Empty for what may be text."""
    for magic, kind in _BINARY:
        if head.startswith(magic) and (magic not in _ALSO_TEXT or b"\0" in head):
            return kind
    if head[4:8] == b"ftyp":
        return "MP4 video or a related format"
    return "a binary file" if b"\0" in head else ""
