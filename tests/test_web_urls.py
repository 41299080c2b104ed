"""Which URL is browsed, and which address belongs to the public internet, before anything is sent."""

import string

import httpx2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from actors.web.addresses import is_excepted, parsed, trouble, trouble_with_name
from actors.web.urls import Target, host_of, read_url, without_password

PRIVATE = (
    "127.0.0.1", "127.8.8.8", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254",
    "100.64.0.1", "100.100.100.200", "0.0.0.0", "0.1.2.3", "224.0.0.1", "239.255.255.250",
    "240.0.0.1", "255.255.255.255", "192.0.0.192", "192.0.2.1", "198.18.0.1", "203.0.113.9",
    "168.63.129.16", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1",
    "fec0::1", "2001:db8::1", "100::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1",
    "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2002:a00:1::",
    "2001:0:0:0:0:0:f5ff:fffe", "3fff::1", "4000::1",
)  # fmt: skip
PUBLIC = (
    "8.8.8.8", "1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "::ffff:8.8.8.8",
    "64:ff9b::808:808", "2002:808:808::1",
)  # fmt: skip
LOOPBACK = (
    "http://127.0.0.1/", "http://127.1/", "http://2130706433/", "http://0x7f000001/", "http://0x7f.1/",
    "http://017700000001/", "http://127.0.0.1./", "http://１２７.０.０.１/", "http://[::1]/",
    "http://[::ffff:127.0.0.1]/", "HTTP://LOCALHOST/", "http://ⓛocalhost/", "http://localhost./",
    "http://a.localhost/",
)  # fmt: skip
NO_URL = (
    "", "example.org", "//example.org/", "ftp://example.org/", "file:///etc/passwd", "javascript:alert(1)",
    "http://", "http:///x", "http://user@example.org/", "http://user:secret@example.org/",
    "http://example.org\\@evil.test/", "http://exa mple.org/", "http://example.org/a b", "http://example.org:0/",
    "http://example.org:99999/", "http://example.org:x/", "http://-x.org/", "http://x..org/", "http://1.2.3.4.5/",
    "http://256.1.1.1/", "http://[fe80::1%25eth0]/", "http://[::1", "http://%6cocalhost/", "http://exa\x00mple.org/",
    "http://example.org/\nHost: evil.test", "http://" + "a" * 64 + ".org/", "http://x/" + "a" * 5000,
    "http://example.org/\ud800",
)  # fmt: skip
HOSTS = (
    "example.org",
    "127.0.0.1",
    "[::1]",
    "0x7f.1",
    "exämple.org",
    "ⓛocalhost",
    "a@b",
    "a:1@b:2",
    "a\\b",
    "",
)


@pytest.mark.parametrize("text", PRIVATE)
def test_an_address_that_is_none_of_the_public_internet_is_troubled(text: str) -> None:
    assert trouble(parsed(text))


@pytest.mark.parametrize("text", PUBLIC)
def test_an_address_of_the_public_internet_is_no_trouble(text: str) -> None:
    assert trouble(parsed(text)) == ""


@pytest.mark.parametrize("url", LOOPBACK)
def test_this_machine_is_known_in_every_spelling(url: str) -> None:
    assert trouble_with_name(read_url(url))


@pytest.mark.parametrize("name", ["intranet", "printer.local", "db.internal", "nas.lan", "x.home.arpa"])
def test_a_name_of_the_local_network_is_no_public_one(name: str) -> None:
    assert trouble_with_name(read_url(f"http://{name}/"))
    assert trouble_with_name(read_url("https://docs.python.org/")) == ""


@pytest.mark.parametrize("text", NO_URL)
def test_what_is_no_plain_web_url_is_refused_and_has_no_host(text: str) -> None:
    with pytest.raises(ValueError, match=r"^(has|must|holds|is) ") as refused:
        read_url(text)
    assert "secret" not in str(refused.value)
    assert host_of(text) == ""


def test_a_url_is_read_into_ascii_with_its_own_port_left_out() -> None:
    target = read_url(" HTTPS://Bücher.Example.:443/ä b".replace(" b", "") + "?q=ü&x=%20#Über ")
    assert target.url == "https://xn--bcher-kva.example/%C3%A4?q=%C3%BC&x=%20"
    assert target.fragment == "Über"
    assert read_url("http://[2606:4700::1]:8080/x").authority == "[2606:4700::1]:8080"
    assert host_of("http://[::1]/") == "[::1]"


def test_a_link_is_joined_and_read_as_strictly() -> None:
    here = read_url("https://example.org/a/b#part")
    assert here.joined("../c").url == "https://example.org/c"
    assert here.joined("//other.test/").host == "other.test"
    assert here.joined("/d").fragment == "part"
    for location in ("file:///etc/passwd", "https://user:pw@example.org/", "javascript:alert(1)"):
        with pytest.raises(ValueError, match=r"has to|must"):
            here.joined(location)


def test_hosts_are_excepted_by_name_and_where_given_by_port() -> None:
    local = read_url("http://localhost:8000/")
    assert is_excepted(local, ["LOCALHOST."])
    assert is_excepted(local, ["localhost:8000"])
    assert not is_excepted(local, ["localhost:9000", "127.0.0.1", "host", "*", ""])
    assert is_excepted(read_url("http://[::1]:80/"), ["[::1]"])


def test_a_password_is_not_repeated() -> None:
    for text in (
        "http://me:secret@host/x",
        "me:secret@host",
        "http:/me:secret@host",
        "HTTP://secret@host@h2/",
    ):
        assert "secret" not in without_password(text)
    assert without_password("http://host/a@b?c@d") == "http://host/a@b?c@d"


@given(st.sampled_from(HOSTS), st.text(alphabet=st.characters(), max_size=8), st.text(max_size=12))
@example("example.org", ":80", "/%zz%2e%2e/?a=b#c")
def test_whatever_is_read_is_what_the_client_would_ask(host: str, port: str, rest: str) -> None:
    told = "is read"
    try:
        target = read_url(f"http://{host}{port}/{rest}")
    except ValueError as error:
        told = str(error)
    assert told.startswith(("has ", "must ", "holds ", "is "))
    if told != "is read":
        return
    url = httpx2.URL(target.url)
    assert url.raw_host.decode().strip("[]") == target.host
    assert (url.port or 80) == target.port
    assert not url.userinfo
    assert read_url(target.url).url == target.url
    assert target.url.isascii()
    assert not set(target.url) & set(string.whitespace + "\\")
    assert isinstance(target, Target)
