"""Types of arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Union

if TYPE_CHECKING:
    from typing_extensions import Buffer as _Buffer


class Array(Protocol):
    """An array of numpy, whose types say that it is a buffer only from Python 3.12 on."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...


Buffer = Union["_Buffer", Array]
"""What has contiguous bytes: ``bytes``, ``bytearray``, ``memoryview``, ``array``, numpy."""
