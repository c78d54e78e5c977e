"""The proxy variables of the environment. The expected values are those of Go's httpproxy package."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.errors import CredentialsError
from moorage.runtime.client.proxy import Proxy, proxy_of_environment

PROXY = "http://proxy.test:3128"
SERVER = "https://10.1.2.3:6443"


def is_direct(server: str, no_proxy: str) -> bool:
    return proxy_of_environment(server, {"HTTPS_PROXY": PROXY, "NO_PROXY": no_proxy}) is None


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, None),
        ({"HTTPS_PROXY": PROXY}, "http://proxy.test:3128 ($HTTPS_PROXY)"),
        ({"https_proxy": PROXY}, "http://proxy.test:3128 ($https_proxy)"),
        ({"HTTPS_PROXY": "", "https_proxy": PROXY}, "http://proxy.test:3128 ($https_proxy)"),
        ({"HTTPS_PROXY": PROXY, "https_proxy": "other:1"}, "http://proxy.test:3128 ($HTTPS_PROXY)"),
        ({"HTTP_PROXY": PROXY, "ALL_PROXY": PROXY}, None),
        ({"HTTPS_PROXY": "proxy.test:3128"}, "http://proxy.test:3128 ($HTTPS_PROXY)"),
        ({"HTTPS_PROXY": "https://me:secret@proxy.test"}, "https://proxy.test ($HTTPS_PROXY)"),
        ({"HTTPS_PROXY": PROXY, "NO_PROXY": "*"}, None),
        ({"HTTPS_PROXY": PROXY, "no_proxy": "10.0.0.0/8"}, None),
        ({"HTTPS_PROXY": PROXY, "NO_PROXY": "x", "no_proxy": "*"}, "http://proxy.test:3128 ($HTTPS_PROXY)"),
    ],
)
def test_the_proxy_comes_from_the_variable_for_the_scheme(environ: dict[str, str], expected: str | None) -> None:
    found = proxy_of_environment(SERVER, environ)
    assert (str(found) if found else None) == expected


def test_a_server_over_plain_http_uses_http_proxy() -> None:
    found = proxy_of_environment("http://10.1.2.3:8080", {"HTTP_PROXY": PROXY, "HTTPS_PROXY": "other:1"})
    assert str(found) == "http://proxy.test:3128 ($HTTP_PROXY)"


@pytest.mark.parametrize(
    ("server", "no_proxy", "expected"),
    [
        ("https://localhost:6443", "", "direct"),
        ("https://127.9.9.9:6443", "", "direct"),
        ("https://[::1]:6443", "", "direct"),
        (SERVER, "10.0.0.0/8", "direct"),
        (SERVER, "192.168.0.0/16, 10.0.0.0/8 ,", "direct"),
        (SERVER, "10.0.0.0/255.0.0.0", "proxy"),
        (SERVER, "10.0.0.0/99,10.1", "proxy"),
        (SERVER, "10.1.2.3", "direct"),
        (SERVER, "10.1.2.3:6443", "direct"),
        (SERVER, "10.1.2.3:443", "proxy"),
        ("https://10.1.2.3", "10.1.2.3:443", "direct"),
        ("https://[fd00::1]:6443", "fd00::/8", "direct"),
        ("https://[fd00::1]:6443", "fd00::1", "direct"),
        ("https://[fd00::1]:6443", "[fd00::1]:6443", "direct"),
        ("https://[::ffff:10.1.2.3]:6443", "10.1.2.3", "direct"),
        ("https://api.foo.com", "foo.com", "direct"),
        ("https://foo.com", "foo.com", "direct"),
        ("https://xfoo.com", "foo.com", "proxy"),
        ("https://foo.com", ".foo.com", "proxy"),
        ("https://api.foo.com", ".foo.com", "direct"),
        ("https://api.foo.com", "*.foo.com", "direct"),
        ("https://foo.com", "*.foo.com", "proxy"),
        ("https://API.foo.com", "Foo.COM", "direct"),
        ("https://api.foo.com", "foo.com:443", "direct"),
        ("https://api.foo.com", "foo.com:6443", "proxy"),
        ("https://münchen.de", "münchen.de", "direct"),
        ("https://api.foo.com", "*foo.com,.,:443", "proxy"),
        ("https://kubernetes.default.svc", ".svc", "direct"),
    ],
)
def test_entries_of_no_proxy_match_as_in_go(server: str, no_proxy: str, expected: str) -> None:
    assert ("direct" if is_direct(server, no_proxy) else "proxy") == expected


@given(st.text(), st.sampled_from([SERVER, "https://api.foo.com", "https://[fd00::1]"]))
def test_any_text_in_no_proxy_is_accepted(no_proxy: str, server: str) -> None:
    is_direct(server, no_proxy)


@pytest.mark.parametrize(
    "value", ["socks5://proxy.test:1080", "socks5h://proxy.test", "ftp://proxy.test", "http://", ":"]
)
def test_a_variable_without_a_valid_http_proxy_is_refused_and_named(value: str) -> None:
    with pytest.raises(CredentialsError, match=r"^\$HTTPS_PROXY "):
        proxy_of_environment(SERVER, {"HTTPS_PROXY": value})


def test_messages_and_logs_never_show_a_proxys_password() -> None:
    assert Proxy.parse("proxy-url", "http://me:secret@proxy.test").authorization == "Basic bWU6c2VjcmV0"
    assert "secret" not in str(Proxy.parse("proxy-url", "http://me:secret@proxy.test"))
    with pytest.raises(CredentialsError) as caught:
        Proxy.parse("proxy-url", "ftp://me:secret@proxy.test")
    assert "secret" not in str(caught.value)
