"""The built-in tools: which there are, and how they are put together for the parent and for a worker."""

from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from actors.files.workspace import Workspace
from actors.invocation import AnyTool
from actors.tools.ask_user import Asker, AskUser
from actors.tools.bash_exec import BashExec
from actors.tools.browse_url import BrowseUrl
from actors.tools.delegate import DelegateTool, Delegator
from actors.tools.list_files import ListFiles
from actors.tools.mkdir import Mkdir
from actors.tools.patch import Patch
from actors.tools.read_file import ReadFile
from actors.tools.ripgrep import Ripgrep
from actors.tools.rm import Rm
from actors.tools.rmdir import Rmdir
from actors.tools.snapshots import Snapshots
from actors.tools.tool import Effect
from actors.tools.update_plan import PlanClient, UpdatePlan
from actors.tools.websearch import Websearch

if TYPE_CHECKING:
    from actors.settings.tables import Web
    from actors.web.browser import Browser
    from actors.web.search import Search

TOOLS: Final[tuple[Any, ...]] = (
    AskUser, BashExec, BrowseUrl, DelegateTool, ListFiles, Mkdir, Patch, ReadFile, Ripgrep, Rm, Rmdir,
    UpdatePlan, Websearch,
)  # fmt: skip
"""Every tool that is advertised, to the parent and to a subagent alike."""
EFFECTS: Final[dict[str, Effect]] = {tool.name: tool.effect for tool in TOOLS}


def parent_tools(
    workspace: Workspace,
    plans: PlanClient,
    asker: Asker,
    delegator: Delegator,
    snapshots: Snapshots,
    bash_exec: BashExec,
    web: Mapping[str, AnyTool] = MappingProxyType({}),
) -> dict[str, AnyTool]:
    """Everything; `web` as of `web_tools`."""
    return _by_name(
        [
            AskUser(asker),
            bash_exec,
            DelegateTool(delegator),
            Mkdir(workspace, snapshots),
            Patch(workspace, snapshots),
            Rm(workspace, snapshots),
            Rmdir(workspace, snapshots),
            UpdatePlan(plans),
            *web.values(),
            *_readers(workspace),
        ]
    )


def web_tools(web: "Web") -> dict[str, AnyTool]:
    """What needs the network: a parent has them for itself and for its subagents, which have none."""

    @cache
    def browser() -> "Browser":
        from actors.web.browser import Browser
        from actors.web.fetch import Fetcher

        return Browser(Fetcher(web.private_hosts))

    @cache
    def search() -> "Search":
        from actors.web.search import Search

        return Search(web.search_url or "")

    return _by_name([BrowseUrl(browser), Websearch(search if web.search_url else None)])


def worker_tools(workspace: Workspace) -> dict[str, AnyTool]:
    """What a subagent may run."""
    return _by_name(_readers(workspace))


def _readers(workspace: Workspace) -> list[AnyTool]:
    return [ListFiles(workspace), ReadFile(workspace), Ripgrep(workspace)]


def _by_name(tools: Iterable[AnyTool]) -> dict[str, AnyTool]:
    return {tool.name: tool for tool in tools}
