"""What commands have left running, laid over the screen."""

from ui import figures
from ui.view import View
from ui.widgets.row import Part


def jobs_markup(view: View) -> list[Part]:
    """Return each job with its number, its command, since when it runs, and its process."""
    jobs = view.state.conversation.jobs
    if not jobs:
        return [("dim", "Nothing runs in the background.")]
    parts: list[Part] = []
    for number, job in jobs.items():
        since = figures.moment(job.started_at, view.wall())
        parts += [
            ("strong", f"{number}  "),
            (None, job.command),
            ("dim", f"\n   process {job.pid}{', since ' if since else ''}{since}\n"),
        ]
    parts.append(("dim", "\n/jobs stop NUMBER ends one, with all that it has started."))
    return parts
