"""Reading what in the folder is no note: the NOW pages and the daily logs, as they are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio.to_thread

from holdfast.errors import StorageError
from holdfast.store.filesystem import FileSystem
from holdfast.store.folder import Folder
from holdfast.store.stored import LARGEST_FILE


def page_reader(folder: Folder, files: FileSystem) -> Callable[[str], Awaitable[str | None]]:
    """A function from a page's name (relative to the folder) to its text, None where there is no such file."""

    def read(name: str) -> str | None:
        path = folder.inside(name)
        try:
            if not path.resolve().is_relative_to(folder.home.resolve()):
                return None  # a link that leaves the folder is not followed
            return files.read(path, LARGEST_FILE).decode("utf-8", "replace")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise StorageError(
                f"A page of the memory folder cannot be read: {error.strerror}.", "Check its permissions."
            ) from error

    async def read_page(name: str) -> str | None:
        return await anyio.to_thread.run_sync(read, name)

    return read_page
