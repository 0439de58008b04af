"""The template, the Lambda package and the Spark archive are what AWS would run."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pyarrow.parquet
import pytest
from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.validate import ParamValidator
from cfnlint import decode
from confluent_kafka import Producer

from account_linking.demo.deployment import create_topics
from account_linking.errors import InvalidSettings
from account_linking.providers.model import LinkedItem
from account_linking.secret_settings import with_secrets
from account_linking.store.dynamodb import TABLE, DynamoStore
from account_linking.store.sealing import Sealer, key_file_beside
from account_linking.tables.session import SETTINGS
from leadsman.java import jars, runtime
from leadsman.lab.brokers.cluster import Cluster, ClusterPlan
from leadsman.lab.spark.cluster import connect_server

if TYPE_CHECKING:
    from collections.abc import Iterator

DEPLOY = Path(__file__).parents[1] / "deploy"
SOURCE = Path(__file__).parents[1] / "src" / "account_linking"
MAX_BYTES = 20_000_000
PROVIDED_BY_LAMBDA = ("boto3", "botocore")


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    document, problems = decode.decode(str(DEPLOY / "template.yaml"))
    assert problems == []
    return json.loads(json.dumps(document))  # type: ignore[no-any-return]


def resources(template: dict[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    return {name: each["Properties"] for name, each in template["Resources"].items() if each["Type"] == kind}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Lambda package, for the Python that runs the tests."""
    out = tmp_path_factory.mktemp("package") / "lambda.zip"
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    build = [sys.executable, str(DEPLOY / "lambda_package.py"), "--out", str(out), "--python", python]
    subprocess.run(build, check=True, capture_output=True, timeout=240)
    return out


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("archive") / "spark.zip"
    subprocess.run([sys.executable, str(DEPLOY / "spark_archive.py"), "--out", str(out)], check=True, timeout=60)
    return out


def test_the_template_passes_aws_own_rules() -> None:
    command = [str(Path(sys.executable).with_name("cfn-lint")), "--regions", "eu-central-1", "us-east-1"]

    found = subprocess.run(
        [*command, "--", str(DEPLOY / "template.yaml")], check=False, capture_output=True, text=True, timeout=120
    )

    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")


def test_no_batch_is_repeated_for_ever(template: dict[str, Any]) -> None:
    mappings = resources(template, "AWS::Lambda::EventSourceMapping")

    assert set(mappings) == {"FanoutMapping", "RequesterMapping"}
    for mapping in mappings.values():
        assert 0 < mapping["MaximumRetryAttempts"] <= 100
        assert mapping["BisectBatchOnFunctionError"] is True
        assert mapping["DestinationConfig"]["OnFailure"]["Destination"] == {"Fn::GetAtt": ["DiscardedBatches", "Arn"]}
        assert mapping["ProvisionedPollerConfig"]["MinimumPollers"] >= 1  # Kafka has these limits in this mode only
    assert mappings["RequesterMapping"]["BatchSize"] == 1


def test_every_variable_of_a_function_is_one_that_the_code_reads(template: dict[str, Any]) -> None:
    code = "".join(path.read_text() for path in sorted(SOURCE.rglob("*.py")) if "demo" not in path.parts)
    functions = resources(template, "AWS::Lambda::Function")

    names = {name for each in functions.values() for name in each["Environment"]["Variables"]}

    assert {name for name in names if name not in code and name.partition("_")[2] not in code} == set()
    assert {name for name in names if name.endswith(("SECRET", "PASSWORD", "TOKEN"))} == set()


def test_no_log_of_the_api_has_a_path(template: dict[str, Any]) -> None:
    (stage,) = resources(template, "AWS::ApiGatewayV2::Stage").values()

    assert "path" not in stage["AccessLogSettings"]["Format"].lower()
    assert "$context.routeKey" in stage["AccessLogSettings"]["Format"]


def test_the_templates_table_is_the_one_that_the_store_uses(template: dict[str, Any], aws: str, tmp_path: Path) -> None:
    (table,) = resources(template, "AWS::DynamoDB::Table").values()
    client = boto3.client(
        "dynamodb", endpoint_url=aws, region_name="eu-central-1", aws_access_key_id="i", aws_secret_access_key="s"
    )
    client.create_table(TableName="by-template", **{name: table[name] for name in TABLE})
    store = DynamoStore(client, "by-template", Sealer(key_file_beside(tmp_path / "x")))

    store.add([LinkedItem(provider="plaid", item="one", user="anna", token="t")])

    assert table["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}
    assert {name: table[name] for name in TABLE} == TABLE
    assert store.claim("plaid", "one", now=0, until=30) is not None


def test_the_lambda_package_is_small_and_has_neither_spark_nor_leadsman(package: Path) -> None:
    with zipfile.ZipFile(package) as opened:
        folders = {name.partition("/")[0] for name in opened.namelist()}
        size = sum(each.file_size for each in opened.infolist())

    assert package.stat().st_size <= MAX_BYTES
    assert size <= 250_000_000  # Lambda's own limit, unzipped
    assert {"account_linking", "leadsman_clients", "confluent_kafka"} <= folders
    assert folders.isdisjoint({"leadsman", "pyspark", "delta", *PROVIDED_BY_LAMBDA})


def test_every_handler_of_the_template_is_in_the_package(
    template: dict[str, Any], package: Path, tmp_path: Path
) -> None:
    handlers = sorted(each["Handler"] for each in resources(template, "AWS::Lambda::Function").values())
    with zipfile.ZipFile(package) as opened:
        opened.extractall(tmp_path)
    program = (
        f"import sys, importlib; sys.path.insert(0, {str(tmp_path)!r})\n"
        f"for name in {handlers!r}:\n"
        "    module, _, function = name.rpartition('.')\n"
        "    assert callable(getattr(importlib.import_module(module), function))\n"
        "import account_linking.store.dynamodb, account_linking.store.postgresql, account_linking.store.kms\n"
        "import confluent_kafka, account_linking\n"
        "print(account_linking.__file__, confluent_kafka.__file__)\n"
    )

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], check=False, capture_output=True, text=True, timeout=120
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.count(str(tmp_path)) == 2
    assert len(handlers) == 4


def test_two_builds_are_one_file(archive: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.zip"

    subprocess.run([sys.executable, str(DEPLOY / "spark_archive.py"), "--out", str(again)], check=True, timeout=60)

    assert again.read_bytes() == archive.read_bytes()


WITHOUT = ("httpx", "jwt", "cryptography", "starlette", "confluent_kafka", "leadsman_clients", "leadsman", "boto3")
BLOCK = f"import sys\nfor name in {WITHOUT!r}: sys.modules[name] = None\n"
"""A cluster has PySpark and Delta, and no other package of the application."""


def test_the_archive_finds_its_maps_inside_the_zip_file(archive: Path) -> None:
    program = (
        f"{BLOCK}sys.path.insert(0, {str(archive)!r})\n"
        "from account_linking.tables import maps\n"
        "print(maps.__file__, maps.version(), maps.by_category()[:4], maps.by_mcc()[:4], maps.by_words()[:4])\n"
    )

    done = subprocess.run(
        [sys.executable, "-I", "-c", program], check=False, capture_output=True, text=True, timeout=60
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{archive}/")
    assert done.stdout.split()[2:] == ["coal", "case", "case"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A broker with nothing but these tests' records."""
    with Cluster(ClusterPlan()) as running:
        yield running


def publish_transaction(cluster: Cluster) -> None:
    create_topics(cluster.bootstrap, 1)
    value = {"transactionId": "t", "accountId": "a", "amount": 1.5, "currency": "USD", "debitCreditMemo": "DEBIT"}
    value |= {"status": "POSTED", "postedTimestamp": "2026-06-01T00:00:00Z", "description": "x"}
    headers: list[tuple[str, str | bytes | None]] = [
        ("item", "i"),
        ("user", "anna"),
        ("op", "UPSERT"),
        ("revision", "1"),
    ]
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    producer.produce("provider.fdx.transactions.raw", json.dumps(value), "fdx|a", headers=headers)
    assert producer.flush(30) == 0


FEW_TASKS = {"spark.sql.shuffle.partitions": "2", "spark.databricks.delta.snapshotPartitions": "2"}
"""With Spark's and Delta's defaults, 200 and 50 tasks for each stage, one record takes minutes on two cores."""


def run_job(command: list[str], tables: Path, cluster: Cluster, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a Spark job outside of the project, with nothing of this process's environment."""
    java = str(runtime.find_java().resolve().parents[1])
    return subprocess.run(
        [*command, "stream", "--once", "--tables", str(tables), "--bootstrap", cluster.bootstrap],
        check=False,
        capture_output=True,
        text=True,
        timeout=280,
        cwd=tables.parent,
        env={"JAVA_HOME": java, "PATH": "/usr/bin:/bin", "SPARK_LOCAL_IP": "127.0.0.1", **variables},
    )


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """The submitted file, which first makes sure that all code is the archive's."""
    path = tmp_path / "job.py"
    check = "import account_linking; assert '.zip' in account_linking.__file__, account_linking.__file__\n"
    path.write_text(BLOCK + check + (DEPLOY / "spark_job.py").read_text().partition("import annotations\n")[2])
    return path


@pytest.mark.lab
@pytest.mark.spark
@pytest.mark.long
def test_spark_submit_runs_the_archive(archive: Path, job: Path, cluster: Cluster, tmp_path: Path) -> None:
    publish_transaction(cluster)
    classes = ":".join(map(str, jars.fetch_jars("spark-4.2")))
    submit = [str(Path(sys.executable).with_name("spark-submit")), "--master", "local[2]"]
    conf = {**FEW_TASKS, "spark.driver.extraClassPath": classes, "spark.ui.enabled": "false"}
    submit += [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    tables = tmp_path / "tables"

    done = run_job([*submit, "--py-files", str(archive), str(job)], tables, cluster, PYSPARK_PYTHON=sys.executable)

    assert done.returncode == 0, done.stderr[-3000:]
    assert rows(tables / "silver") == ["t"]
    assert len(cluster.read_topic("bank.transaction.v1")) >= 1


@pytest.mark.lab
@pytest.mark.spark
@pytest.mark.long
def test_the_archive_runs_on_spark_connect(archive: Path, job: Path, cluster: Cluster, tmp_path: Path) -> None:
    publish_transaction(cluster)
    classes = ":".join(map(str, jars.fetch_jars("spark-4.2")))
    conf = {name: SETTINGS[name] for name in ("spark.sql.extensions", "spark.sql.catalog.spark_catalog")}
    tables = tmp_path / "tables"
    (tmp_path / "server").mkdir()

    with connect_server(
        tmp_path / "server", conf={**conf, **FEW_TASKS, "spark.driver.extraClassPath": classes}
    ) as address:
        done = run_job([sys.executable, str(job)], tables, cluster, SPARK_REMOTE=address, PYTHONPATH=str(archive))

    assert done.returncode == 0, done.stderr[-3000:]
    assert rows(tables / "silver") == ["t"]
    assert len(cluster.read_topic("bank.transaction.v1")) >= 1


def rows(table: Path) -> list[str]:
    """The ids in a Delta table, by a reader that is not Spark."""
    log = sorted((table / "_delta_log").glob("*.json"))
    actions = [json.loads(line) for path in log for line in path.read_text().splitlines()]
    removed = {each["remove"]["path"] for each in actions if "remove" in each}
    files = [each["add"]["path"] for each in actions if "add" in each and each["add"]["path"] not in removed]
    tables = [pyarrow.parquet.read_table(table / path) for path in files]
    return [str(value) for each in tables for value in each.column("provider_transaction_id").to_pylist()]


def test_the_example_of_a_job_is_a_request_that_emr_serverless_takes() -> None:
    model = ServiceModel(Loader().load_service_model("emr-serverless", "service-2"))
    shape = model.operation_model("StartJobRun").input_shape
    job = json.loads((DEPLOY / "emr_serverless_job.json").read_text())

    report = ParamValidator().validate({"clientToken": "t", **job}, shape)

    assert report.generate_report() == ""
    assert job["jobDriver"]["sparkSubmit"]["entryPoint"].endswith("/spark_job.py")


@pytest.mark.usefixtures("aws_variables")
def test_secrets_come_from_one_secret() -> None:
    client = boto3.client("secretsmanager")
    good = client.create_secret(Name="settings", SecretString='{"PLAID_SECRET": "s", "PLAID_URL": "secret"}')["ARN"]
    bad = client.create_secret(Name="no settings", SecretString="planted")["ARN"]

    settings = with_secrets({"ACCOUNT_LINKING_SECRET_ARN": good, "PLAID_URL": "variable"})

    assert (settings["PLAID_SECRET"], settings["PLAID_URL"]) == ("s", "secret")
    assert with_secrets({"PLAID_URL": "variable"}) == {"PLAID_URL": "variable"}
    with pytest.raises(InvalidSettings) as refused:
        with_secrets({"ACCOUNT_LINKING_SECRET_ARN": bad})
    assert "planted" not in str(refused.value)
