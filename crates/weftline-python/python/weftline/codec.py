"""The erasure codes, on any buffer: ``bytes``, ``bytearray``, ``memoryview``, ``array``, numpy.

A *source symbol* is a payload. A *repair symbol* is a combination of source symbols with coefficients of a finite field;
the receiver recovers lost source symbols from repair symbols.

What is given as a buffer is read where it is, without a copy, and must be contiguous in memory. Do not write to it from another
thread during the call. Long calls release the interpreter's lock, and all objects may be shared by threads.

The codes encrypt nothing and authenticate nobody.
"""

from ._native import (
    BlockDecoder,
    BlockEncoder,
    Coefficients,
    Recoder,
    ReedSolomon,
    WindowDecoder,
    WindowEncoder,
)
from .errors import CodecError

__all__ = [
    "BlockDecoder",
    "BlockEncoder",
    "CodecError",
    "Coefficients",
    "Recoder",
    "ReedSolomon",
    "WindowDecoder",
    "WindowEncoder",
]
