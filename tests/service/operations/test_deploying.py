"""What it takes to run a server: files to deploy it, TLS, probes, many projects."""

import asyncio
import configparser
import json
import re
import shutil
import ssl
import subprocess
import time
from pathlib import Path

import httpx
import pytest
import yaml
from typer.testing import CliRunner

from askwise.cli import app
from askwise.errors import OptionError, ServiceError
from askwise.service.backend.backend import EAGER, Backend
from askwise.service.client import AsyncClient, Client
from askwise.service.decisions.writer import Writer
from askwise.service.ledger import open_ledger
from askwise.service.replanning.policy_versions import PolicyCache
from askwise.service.settings import Settings
from service_calls import as_json, get, post
from serving import PROBLEM, create, served
from waiting import until

DEPLOY = Path(__file__).parents[3] / "deploy"


def options_of_serve():
    return set(re.findall(r"--[a-z-]+", CliRunner().invoke(app, ["serve", "--help"]).output))


def test_the_unit_of_systemd_can_be_read():
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read_string((DEPLOY / "askwise.service").read_text())
    assert set(unit.sections()) == {"Unit", "Service", "Install"}
    command = unit["Service"]["ExecStart"].split()
    assert command[:2] == ["/opt/askwise/bin/askwise", "serve"]
    assert {word for word in command if word.startswith("--")} <= options_of_serve()


def test_the_manifest_of_kubernetes_can_be_read():
    deployment, service = yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())
    assert (deployment["kind"], service["kind"]) == ("Deployment", "Service")
    spec = deployment["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    assert {word for word in container["args"] if word.startswith("--")} <= options_of_serve()
    probes = {container[f"{name}Probe"]["httpGet"]["path"] for name in ("readiness", "liveness")}
    assert probes == {"/readyz", "/healthz"}
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"] == deployment["spec"]["selector"]["matchLabels"] == labels


def test_the_dockerfile_can_be_read():
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    known = "FROM WORKDIR COPY RUN USER ENV VOLUME EXPOSE HEALTHCHECK STOPSIGNAL ENTRYPOINT CMD"
    assert {line.split()[0] for line in lines} <= set(known.split())
    (command,) = [json.loads(line[4:]) for line in lines if line.startswith("CMD ")]
    assert {word for word in command if word.startswith("--")} <= options_of_serve()
    sources = [line.split()[1:-1] for line in lines if line.startswith("COPY ")]
    for source in (name for names in sources if "--from=build" not in names for name in names):
        assert (DEPLOY.parent / source).exists(), source


def test_prometheus_scrapes_with_a_token_and_reads_the_alerts():
    config = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())
    assert config["rule_files"] == ["alerts.yml"]
    for job in config["scrape_configs"]:
        assert job["authorization"]["credentials_file"] == "/etc/prometheus/askwise.token"
        assert job["scheme"] in ("http", "https")
    assert config["global"]["scrape_interval"] == "15s"  # alerts are for a minute


def test_grafana_and_the_alerts_ask_for_metrics_that_there_are(tmp_path):
    document = json.loads((DEPLOY / "grafana.json").read_text())
    targets = [target["expr"] for panel in document["panels"] for target in panel["targets"]]
    windows = {found for text in targets for found in re.findall(r"\[(.*?)\]", text)}
    assert windows <= {"5m", "1h", "$__rate_interval"}  # in less there may be a single scrape
    rules = yaml.safe_load((DEPLOY / "alerts.yml").read_text())
    targets += [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    asked = {name for text in targets for name in re.findall(r"askwise_[a-z_]+", text)}
    with served(str(tmp_path / "ledger.db")) as server:
        post(server, "/v1/projects", {"name": "clinic", "problem": as_json(PROBLEM)})
        until(lambda: 'askwise_cases{project="clinic"}' in get(server, "/metrics").text)
        text = get(server, "/metrics").text
    shown = set(re.findall(r"^# TYPE (askwise_\w+)", text, re.MULTILINE))
    shown |= {f"{name}_bucket" for name in shown} | {f"{name}_total" for name in shown}
    assert asked
    assert asked <= shown


def test_probes_and_prometheus_may_ask_by_any_address_and_nothing_else_may(tmp_path):
    with served(str(tmp_path / "ledger.db")) as server:
        until(lambda: server.http.get("/readyz").status_code == 200)
        for host in ("10.1.2.3:8350", "10.1.2.3", "[fd00::7]:8350"):
            for path in ("/healthz", "/readyz", "/metrics"):
                assert get(server, path, host=host).status_code == 200
            assert server.http.get("/metrics", headers={"host": host}).status_code == 401
            for path in ("/", "/v1/token", "/healthz/x"):
                assert get(server, path, host=host).status_code == 421
        for path in ("/healthz", "/metrics"):
            assert get(server, path, host="pod-7").status_code == 421
        assert server.http.post("/healthz", headers={"host": "10.1.2.3"}).status_code == 405


def assert_clients_trust(url, token, cert, context):
    """With the certificate as a file or in a context; without, it is said once and at once."""

    async def listed(verify):
        async with AsyncClient(url, token, verify=verify) as client:
            return [project.name for project in await client.projects()]

    for verify in (cert, Path(cert), context):
        with Client(url, token, verify=verify) as client:
            assert [project.name for project in client.projects()] == ["clinic"]
        assert asyncio.run(listed(verify)) == ["clinic"]
    began = time.monotonic()
    with (
        Client(url, token, retries=50) as client,
        pytest.raises(ServiceError, match=r"certificate is not trusted.*as verify="),
    ):
        client.projects()
    with pytest.raises(ServiceError, match="certificate is not trusted"):
        asyncio.run(listed(None))
    assert time.monotonic() - began < 30  # fifty attempts would wait for minutes
    with pytest.raises(ServiceError, match=r"no certificates can be read from none\.pem"):
        Client(url, token, verify="none.pem")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="nothing here makes a certificate")
def test_the_server_speaks_tls(tmp_path):
    cert, key = str(tmp_path / "cert.pem"), str(tmp_path / "key.pem")
    made = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1"
    names = "-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
    command = f"openssl {made} {names} -keyout {key} -out {cert}"
    subprocess.run(command.split(), check=True, capture_output=True)
    with served(str(tmp_path / "ledger.db"), tls=(cert, key)) as server:
        trusting = ssl.create_default_context(cafile=cert)
        with httpx.Client(base_url=f"https://127.0.0.1:{server.port}", verify=trusting) as http:
            until(lambda: http.get("/readyz").status_code == 200)
            headers = {"authorization": f"Bearer {server.token}", "idempotency-key": "k"}
            body = {"name": "clinic", "problem": as_json(PROBLEM)}
            assert http.post("/v1/projects", json=body, headers=headers).status_code == 201
            assert http.get("/v1/projects", headers=headers).json()["projects"]
        with pytest.raises(httpx.TransportError):
            server.http.get("/healthz")
        assert_clients_trust(f"https://127.0.0.1:{server.port}", server.token, cert, trusting)
    with pytest.raises(OptionError, match="give both"):
        Settings(tls=(cert, ""))


def test_many_projects_are_loaded_when_they_are_asked_for(tmp_path):
    db = str(tmp_path / "ledger.db")
    ledger = open_ledger(db)
    writer = Writer(ledger, PolicyCache(ledger))
    for k in range(EAGER + 2):
        create(writer, f"clinic-{k}", learner="fixed-set", observations=["mri"])
    backend = Backend(Settings(db=db))
    backend.refresh()
    assert (len(backend.projects), backend.deciders) == (EAGER + 2, {})
    assert backend.load("clinic-7") is backend.deciders["clinic-7"]
    assert backend.load("nowhere") is None
    backend.refresh()
    assert set(backend.deciders) == {"clinic-7"}
    backend.ledger.close()
    with served(db) as server:
        for name in ("clinic-3", "clinic-4"):
            assert post(server, f"/v1/projects/{name}/cases", {}).status_code == 201
        assert get(server, "/v1/projects/clinic-5/summary").status_code == 200
        assert post(server, "/v1/projects/nowhere/cases", {}).status_code == 404
    ledger.close()
