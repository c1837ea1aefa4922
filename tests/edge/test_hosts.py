"""What is asked for, and of whom: targets and hosts."""

from edge.checks import REFUSED, Check, assert_permitted, get, table

HOST = b"Host: localhost\r\n"
SERVED = (200, 200)
"""It is answered, and so is the probe."""
NOT_OURS = (421, 200)
"""There is no such host here, and the probe is answered."""


def absolute(target: bytes, host: bytes = HOST) -> bytes:
    return get(host, line=b"GET " + target + b" HTTP/1.1")


TARGETS = [
    Check(
        "a query is no part of the path",
        "9112 3.2.1",
        get(HOST, line=b"GET /healthz? HTTP/1.1"),
        (SERVED,),
    ),
    Check(
        "an absolute target is taken",
        "9112 3.2.2",
        absolute(b"http://localhost/healthz"),
        (SERVED,),
    ),
    Check(
        "an absolute target may name the port",
        "9112 3.2.2",
        absolute(b"http://localhost:$PORT/healthz"),
        (SERVED,),
    ),
    Check(
        "an absolute target may have no path",
        "9112 3.2.1",
        absolute(b"http://localhost"),
        (SERVED,),
    ),
    Check(
        "scheme and host of a target are in any case",
        "9110 4.2.3",
        absolute(b"HTTP://LocalHost/healthz"),
        (SERVED,),
    ),
    Check(
        "the host of an absolute target counts before the field",
        "9112 3.2.2",
        absolute(b"http://localhost/healthz", b"Host: elsewhere.example\r\n"),
        (SERVED,),
    ),
    Check(
        "another host in an absolute target is not ours, whatever the field says",
        "9112 3.2.2",
        absolute(b"http://elsewhere.example/healthz"),
        (NOT_OURS, (421,), (400, 200), REFUSED),
    ),
    Check(
        "an absolute target needs the field too",
        "9112 3.2",
        absolute(b"http://localhost/healthz", b""),
        (REFUSED, (400, 200)),
    ),
    Check(
        "two hosts beside an absolute target are refused",
        "9112 3.2",
        absolute(b"http://localhost/healthz", HOST + HOST),
        (REFUSED, (400, 200)),
    ),
    Check(
        "https is not to be had here",
        "9110 7.4",
        absolute(b"https://localhost/healthz"),
        (NOT_OURS, (421,), (400, 200), REFUSED),
    ),
    Check(
        "a user in a target is refused",
        "9110 4.2.4",
        absolute(b"http://user:word@localhost/healthz"),
        (NOT_OURS, (421,), (400, 200), REFUSED),
    ),
    Check(
        "a target without a host is refused",
        "9110 4.2.1",
        absolute(b"http:///healthz"),
        (NOT_OURS, (421,), (400, 200), REFUSED),
    ),
]


def host(value: bytes) -> bytes:
    return get(b"Host:" + value + b"\r\n")


HOSTS = [
    *(
        Check(f"the host {shown} is ours", "9110 7.2", host(value), (SERVED,))
        for shown, value in {
            "127.0.0.1": b" 127.0.0.1",
            "[::1]": b" [::1]",
            "LOCALHOST": b" LOCALHOST",
            "localhost with the port": b" localhost:$PORT",
            "localhost with an empty port": b" localhost:",
            "127.0.0.1 with an empty port": b" 127.0.0.1:",
            "[::1] with a port": b" [::1]:$PORT",
            "without a space before it": b"localhost",
            "between tabs": b"\t \tlocalhost\t ",
        }.items()
    ),
    Check("no host is refused", "9112 3.2", get(b""), (REFUSED, (400, 200))),
    *(
        Check(f"{shown} is refused", "9112 3.2", get(fields), (REFUSED, (400, 200)))
        for shown, fields in {
            "two hosts": b"Host: localhost\r\nHost: elsewhere.example\r\n",
            "the same host twice": HOST + HOST,
            "a host in two cases of the name": b"Host: localhost\r\nHOST: localhost\r\n",
            "a host with a space": b"Host: local host\r\n",
            "a host with a path": b"Host: localhost/healthz\r\n",
            "a host with a user": b"Host: user@localhost\r\n",
            "a list of hosts": b"Host: localhost, localhost\r\n",
            "a port that is no number": b"Host: localhost:http\r\n",
            "two ports": b"Host: localhost:80:80\r\n",
            "a port with a sign": b"Host: localhost:+80\r\n",
            "brackets that do not close": b"Host: [::1\r\n",
        }.items()
    ),
    Check("an empty host is refused", "9110 4.2.1", host(b""), (REFUSED, (400, 200), NOT_OURS)),
    *(
        Check(f"{shown} is not ours", "9110 7.4, 15.5.20", host(value), (NOT_OURS,))
        for shown, value in {
            "an unknown host": b" elsewhere.example",
            "a host that begins like ours": b" localhost.elsewhere.example",
            "a host that ends like ours": b" notlocalhost",
            "an unknown host with our port": b" elsewhere.example:$PORT",
        }.items()
    ),
    Check(
        "two hosts are refused in HTTP/1.0 too",
        "9112 3.2",
        get(HOST + HOST, line=b"GET /healthz HTTP/1.0"),
        (REFUSED,),
    ),
    Check(
        "HTTP/1.0 needs no host, but ours may be asked for",
        "9112 3.2, 3.3",
        get(b"", line=b"GET /healthz HTTP/1.0"),
        ((200,), REFUSED, (421,)),
    ),
]


@table(TARGETS)
def test_targets(edge, check):
    assert_permitted(edge, check)


@table(HOSTS)
def test_hosts(edge, check):
    assert_permitted(edge, check)
