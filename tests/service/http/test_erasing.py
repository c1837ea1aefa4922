"""What is left of an erased case: pages go on, and its requests are not taken for new ones."""

import json

import pytest

from service_calls import CASES, as_json, finished, get, new_case, post
from serving import PROBLEM, database_fixture, postgres_fixture, served  # noqa: F401

CLINIC = "/v1/projects/clinic"


@pytest.fixture(name="clinic")
def clinic_fixture(database):
    with served(database) as server:
        post(server, "/v1/projects", {"name": "clinic", "problem": as_json(PROBLEM)})
        yield server


def erase(server, number):
    assert post(server, f"{CASES}/{number}/erase", {}).status_code == 200


def test_the_log_names_the_project_of_an_erasure_and_of_prices(clinic, capfd):
    new_case(clinic)
    assert post(clinic, f"{CASES}/1/cancel", {}).status_code == 200
    erase(clinic, 1)
    assert post(clinic, f"{CLINIC}/prices", {"prices": {"mri": 2.5}}).status_code == 200
    said = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert [line["asked"] for line in said if "administration" in line["what"]] == [
        {"project": "clinic", "case": 1},
        {"project": "clinic", "prices": {"mri": 2.5}},
    ]


def test_pages_of_cases_go_on_past_those_that_were_erased(clinic):
    for number in range(1, 13):
        new_case(clinic)
        assert post(clinic, f"{CASES}/{number}/cancel", {}).status_code == 200
    for number in (3, *range(7, 13)):
        erase(clinic, number)

    def page(before=""):
        cases = get(clinic, f"{CASES}?limit=4{before}").json()["cases"]
        return [case["case"] for case in cases]

    assert page() == [6, 5, 4, 2]
    assert page("&before=2") == [1]
    assert page("&before=1") == []


def test_a_request_about_an_erased_case_does_nothing_when_it_is_repeated(clinic):
    known = {"known": {"mammogram": "low", "mri": None}}
    opened = post(clinic, CASES, known, "opens-it")
    path = f"{CASES}/{opened.json()['case']}"
    assert post(clinic, f"{path}/reward", {"reward": 1.0}, "rewards-it").status_code == 200
    finished(clinic)
    erase(clinic, opened.json()["case"])
    before = get(clinic, CLINIC).json()
    for place, body, key in (
        (CASES, known, "opens-it"),
        (CASES, {}, "opens-it"),
        (f"{path}/reward", {"reward": 1.0}, "rewards-it"),
    ):
        again = post(clinic, place, body, key)
        assert again.status_code == 410, again.text
        assert again.json()["errors"][0]["pointer"] == "header:Idempotency-Key"
    batch = [{"key": "opens-it", "open": known}, {"key": "new", "open": {}}]
    answers = post(clinic, f"{CLINIC}/batch", batch).json()
    assert [answer["status"] for answer in answers] == [410, 201]
    after = get(clinic, CLINIC).json()
    assert after["cases"] == before["cases"] + 1
    assert "opens-it" not in get(clinic, f"{CLINIC}/events").text
    assert post(clinic, CASES, {}, "opens-it-too").status_code == 201


def test_a_clone_is_answered_again_though_its_source_is_gone(clinic):
    asked = f"{CLINIC}/clone", {"name": "copy"}, "clones-it"
    made = post(clinic, *asked)
    assert made.status_code == 201, made.text
    assert post(clinic, f"{CLINIC}/delete", {"name": "clinic"}).status_code == 200
    again = post(clinic, *asked)
    assert (again.status_code, again.json()) == (201, made.json() | {"token": None})
    assert post(clinic, f"{CLINIC}/clone", {"name": "other"}, "clones-it").status_code == 409
    assert post(clinic, f"{CLINIC}/clone", {"name": "other"}).status_code == 404
