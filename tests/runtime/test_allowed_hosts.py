"""AllowedHosts: the hosts that extenders of policies may have."""

import pytest

from moorage.runtime.extenders.allowed_hosts import AllowedHosts


@pytest.mark.parametrize(
    ("entry", "url"),
    [
        ("extender.example.com", "http://extender.example.com/api"),
        ("extender.example.com", "https://EXTENDER.example.com:8443"),
        ("extender.example.com", "http://extender.example.com./"),
        ("Extender.Example.com", "http://extender.example.com"),
        ("extender.example.com:443", "https://extender.example.com"),
        ("extender.example.com:80", "http://extender.example.com/x"),
        ("extender:8888", "http://extender:8888"),
        ("*.svc.cluster.local", "http://a.b.svc.cluster.local:1"),
        ("*.example.com:8443", "https://a.example.com:8443"),
        ("10.0.0.7", "http://10.0.0.7:8888"),
        ("[fd00::7]", "http://[fd00::7]:8888"),
        ("[fd00::7]:8888", "http://[FD00::7]:8888"),
        ("extender", "http://user:password@extender/api"),
    ],
)
def test_a_listed_host_is_allowed(entry: str, url: str) -> None:
    assert AllowedHosts.parse(["other.example.org", entry]).allow(url)


@pytest.mark.parametrize(
    ("entry", "url"),
    [
        ("extender.example.com", "http://extender.example.com.evil.com"),
        ("extender.example.com", "http://a.extender.example.com"),
        ("extender.example.com", "http://extender.example.com@evil.com"),
        ("extender.example.com", "http://extender.example.com:80@evil.com/"),
        ("extender.example.com", "http://evil.com/extender.example.com"),
        ("extender.example.com:443", "http://extender.example.com"),
        ("extender.example.com:443", "https://extender.example.com:6443"),
        ("*.example.com", "http://example.com"),
        ("*.example.com", "http://badexample.com"),
        ("*.example.com", "http://a.example.com.evil.com"),
        ("localhost", "http://127.0.0.1"),
        ("127.0.0.1", "http://2130706433"),
        ("127.0.0.1", "http://127.1"),
        ("127.0.0.1", "http://[::ffff:127.0.0.1]"),
        ("*.example.com", "http://[:::]"),
    ],
)
def test_another_host_is_not_allowed(entry: str, url: str) -> None:
    assert not AllowedHosts.parse([entry]).allow(url)


def test_an_empty_list_allows_nothing() -> None:
    assert not AllowedHosts().allow("http://localhost")


@pytest.mark.parametrize(
    "entry", ["*", "*.", "http://x", "x/y", "a.*.b", "x:0", "x:70000", "x:", "", "x y", "*x", "a..b", "fd00::7", "u@x"]
)
def test_an_entry_that_is_not_a_host_is_refused(entry: str) -> None:
    with pytest.raises(ValueError, match="is not a host"):
        AllowedHosts.parse([entry])
