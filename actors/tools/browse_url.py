"""`browse_url`: one page of the public web as text, for reading and nothing else."""

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from actors.tools.tool import Effect, Invocation, ToolInput, ToolOutput
from actors.web.urls import without_password

if TYPE_CHECKING:
    from actors.web.browser import Browser


class BrowseUrlInput(ToolInput):
    """What to read."""

    url: str = Field(description="#line=N: from that line on")


class BrowseUrl:
    """Reads pages; which host may be asked is decided elsewhere."""

    name: ClassVar[str] = "browse_url"
    effect: ClassVar[Effect] = "web"
    input: ClassVar[type[BrowseUrlInput]] = BrowseUrlInput

    def __init__(self, browser: "Callable[[], Browser]") -> None:
        """`browser` is called when a page is wanted: importing what it needs takes 9 ms."""
        self._browser = browser

    def summary(self, given: BrowseUrlInput) -> str:
        return without_password(given.url)

    def preview(self, given: BrowseUrlInput) -> str:
        """The request as it is sent: look-alike letters show what they are. Raises `ToolFailure` for none."""
        return f"GET {self._browser().target(given.url).url}"

    async def run(self, given: BrowseUrlInput, invocation: Invocation) -> ToolOutput:
        return await self._browser().browse(self._browser().target(given.url))
