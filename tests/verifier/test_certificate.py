import json
from dataclasses import replace

import pytest
from solar_agent.verifier.certificate import (
    EXIT_CODES,
    Certificate,
    DamagedCertificate,
    Failure,
    LeafRecord,
    SizeRecord,
    TrialRecord,
)
from solar_agent.verifier.types import Assignment

ASSIGNMENT = Assignment("B=1, D=7", {"batch_size": 1, "dim": 7}, {"x": (1, 7)}, True, ("eps",))
CERTIFICATE = Certificate(
    verdict="verified",
    flags=("stochastic",),
    entry="Model",
    mode="eval",
    source_sha256="a" * 64,
    ir_sha256="b" * 64,
    tool_version="0.1.0",
    versions={"torch": "2.13.0", "numpy": "2.4.6"},
    sizes=(SizeRecord.of(ASSIGNMENT),),
    trials=(TrialRecord(0, 11, "normal", "promoted", True), TrialRecord(0, 12, "ties", "promoted", False)),
    leaves=(LeafRecord("result", "", "f32", (16, 7), "verified", 2e-15, 1e-9, 1.0, 2),
            LeafRecord("result", "steps", "i64", None, "verified", 0.0, 0.0, 1.0, 2)),
)  # fmt: skip


def test_json_round_trip():
    assert Certificate.from_json(CERTIFICATE.to_json()) == CERTIFICATE
    assert Certificate.from_json(CERTIFICATE.to_json()).hash == CERTIFICATE.hash


def test_what_was_not_measured_is_null():
    data = json.loads(CERTIFICATE.to_json())
    assert data["coverage"] is data["mutation_score"] is data["work_check"] is None


def test_an_assignment_is_recovered_whole():
    assert Certificate.from_json(CERTIFICATE.to_json()).sizes[0].assignment() == ASSIGNMENT


def test_seeds_and_distributions():
    assert CERTIFICATE.seeds == (11, 12)
    assert CERTIFICATE.distributions == ("normal", "ties")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.pop("verdict"), "missing verdict"),
        (lambda data: data.update(extra=1), "unknown extra"),
        (lambda data: data.update(verdict="fine"), "verdict: expected one of"),
        (lambda data: data.update(format=99), "format 99"),
        (lambda data: data["trials"][0].update(seed="11"), "trials.0.seed: expected int, got str"),
        (lambda data: data["trials"][0].update(seed=True), "trials.0.seed: expected int, got bool"),
        (lambda data: data["trials"][1].update(size=1), "trials.1.size"),
        (lambda data: data["leaves"][0].update(shape=[1.5]), "leaves.0.shape.0"),
        (lambda data: data["sizes"][0].pop("changes"), "sizes.0: missing changes"),
        (lambda data: data.update(leaves={}), "leaves: expected a list"),
    ],
)
def test_damage_is_named(change, message):
    data = json.loads(CERTIFICATE.to_json())
    change(data)
    with pytest.raises(DamagedCertificate, match=message.replace(".", r"\.")):
        Certificate.from_json(json.dumps(data))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "3", CERTIFICATE.to_json()[:-10]])
def test_what_is_no_certificate_is_refused(text):
    with pytest.raises(DamagedCertificate):
        Certificate.from_json(text)


def test_hash_ignores_what_differs_between_machines():
    other = replace(
        CERTIFICATE,
        versions={"torch": "2.6.0"},
        warnings=("slow",),
        leaves=(replace(CERTIFICATE.leaves[0], error=4e-15, tolerance=2e-9), CERTIFICATE.leaves[1]),
    )
    assert other.hash == CERTIFICATE.hash


@pytest.mark.parametrize(
    "change",
    [
        {"verdict": "verified-in-part"},
        {"flags": ()},
        {"ir_sha256": "c" * 64},
        {"source_sha256": "c" * 64},
        {"trials": CERTIFICATE.trials[:1]},
        {"sizes": (SizeRecord.of(replace(ASSIGNMENT, changes={"batch_size": 2})),)},
        {"failures": (Failure("compare", "differs", 3, "y"),)},
        {"leaves": (replace(CERTIFICATE.leaves[0], status="different"), CERTIFICATE.leaves[1])},
    ],
)
def test_hash_sees_what_was_checked_and_found(change):
    assert replace(CERTIFICATE, **change).hash != CERTIFICATE.hash


def test_exit_codes():
    assert EXIT_CODES == {"verified": 0, "verified-in-part": 10, "specialised": 11, "unverified": 20, "refused": 21}
    assert replace(CERTIFICATE, verdict="refused").exit_code == 21
