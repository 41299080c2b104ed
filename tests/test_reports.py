"""Every report of users of such tools has a test that shows the right behaviour; a marker names it."""

from tests.fakes.marked import named_by

REPORTS = {
    "CACHE-01": "everything before the newest messages is the same bytes, also after a resume",
    "CACHE-02": "the tools array is the same bytes in every turn and start",
    "CFG-01": "a base URL with a slash behind it",
    "CFG-02": "a base URL that holds the endpoint, or another prefix than /v1",
    "CFG-04": "five levels of settings, with a source for each value",
    "CFG-05": "own files are UTF-8 in every locale",
    "CFG-06": "a bad settings file is one line with file, key and reason",
    "FILE-01": "an edit of a file with CRLF",
    "FILE-03": "a byte order mark stays",
    "FILE-04": "another encoding than UTF-8 stays",
    "FILE-05": "binaries, devices and folders are named, not read",
    "FILE-06": "one enormous line is read in pieces",
    "FILE-08": "instructions that are a link out of the workspace are not read",
    "FILE-09": "a link stays a link",
    "FILE-10": "mode and owner stay",
    "FILE-11": "a reader sees the old or the new content, never a part",
    "FILE-12": "a search does not wait for pipes and devices",
    "FILE-13": "ignore rules hold however the search is made",
    "FILE-14": "text that is only similar is not replaced",
    "FILE-15": "no match, several matches, no change: each says what to do",
    "HEAD-01": "every way a run can fail has its exit status",
    "HEAD-02": "a headless run never waits for an approval",
    "PERM-02": "a rule matches whole words, and no interpreter by its name",
    "PROV-01": "pieces of calls without an index",
    "PROV-02": "two entries with one index in the first chunk",
    "PROV-04": "arguments that are empty, blank, null or missing",
    "PROV-05": "arguments that are cut off are never run",
    "PROV-06": "servers that disagree on the content of a message that only calls",
    "PROV-07": "an empty answer is never sent back",
    "PROV-09": "reasoning goes back where it is wanted, and nowhere else",
    "PROV-11": "a dropped connection is no end of an answer",
    "PROV-13": "a finish reason of calls without a call",
    "PROV-14": "usage that is null, late, repeated or absent",
    "PROV-15": "Retry-After is kept to, within a limit",
    "PROV-16": "a stream that falls silent",
    "PROV-17": "an output budget that reasoning has used up",
    "PROV-18": "parameters that one server wants and another refuses",
    "PROV-19": "tool schemas that a server cannot compile",
    "PROV-20": "a call that comes as text",
    "PROV-21": "a window that nobody knows",
    "SEC-01": "a key is readable nowhere, whatever goes wrong with it",
    "SEC-02": "secrets in headers, queries and environment stay out of logs",
    "SEC-03": "a key goes to its own host alone, and no repr shows it",
    "SH-02": "what a command leaves running is told, and lives on",
    "SH-03": "a command has no terminal to wait at",
    "SH-04": "a command has nothing to read",
    "SH-05": "huge output is told by its ends",
    "SH-06": "huge output costs no memory",
    "SH-07": "a command that stays is shown while it runs, and told at its limit",
    "TOOL-01": "calls of one answer keep their order, whatever is asked or denied",
    "TOOL-02": "results follow the order of the calls",
    "TOOL-03": "an invented tool is told of the real ones, and not for ever",
    "TOOL-04": "what other agents call a tool works here",
}


def test_every_report_has_a_test_that_names_it() -> None:
    named = named_by("report", str)
    assert {report: right for report, right in REPORTS.items() if report not in named} == {}


def test_no_test_names_a_report_that_is_not_there() -> None:
    assert sorted(set(named_by("report", str)) - set(REPORTS)) == []
