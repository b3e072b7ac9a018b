"""How Gemini CLI is started: arguments, variables and files."""

from __future__ import annotations

import json
import os
import tomllib

import pytest

from awf.infrastructure.agents.gemini.dialect import Gemini


def files_of(invocation):
    return {os.path.basename(path): text for path, text in invocation.files.items()}


def settings_of(invocation):
    return json.loads(files_of(invocation)["settings.json"])


async def started(task):
    dialect = Gemini()
    return dialect.invocation(task, await dialect.prepare(task))


async def test_ours_are_its_only_tools_when_they_are_to_be(gemini_task):
    made = await started(gemini_task("intercept", {"model": "m"}))

    assert made.argv[:6] == ["/bin/gemini", "-o", "stream-json", "--skip-trust", "-m", "m"]
    assert made.argv[-2:] == ["-e", "none"]
    assert made.argv[made.argv.index("--allowed-mcp-server-names") + 1] == "awf-proxy"
    rules = tomllib.loads(made.files[made.argv[made.argv.index("--admin-policy") + 1]])["rule"]
    assert [(rule["decision"], rule.get("mcpName")) for rule in rules] == [
        ("deny", None),
        ("allow", "awf-proxy"),
    ]
    assert rules[1]["priority"] > rules[0]["priority"]
    settings = settings_of(made)
    assert settings["mcpServers"]["awf-proxy"]["command"] == "/usr/bin/awf"
    assert settings["mcpServers"]["awf-proxy"]["args"] == ["mcp-serve", "--config=a b.json"]
    assert settings["hooksConfig"] == {"enabled": False}
    assert made.stdin == "do it"


async def test_every_file_is_in_the_folder_of_the_call(gemini_task):
    task = gemini_task("intercept", system_prompt="Be brief.")
    made = await started(task)

    assert all(path.startswith(f"{task.folder}/") for path in made.files)
    assert made.env["GEMINI_CLI_HOME"] == f"{task.folder}/home"
    assert files_of(made)["AWF.md"] == "Be brief."
    assert "AWF.md" in settings_of(made)["context"]["fileName"]


async def test_sessions_are_kept_apart_and_outlive_the_call(gemini_task, tmp_path):
    first = await started(gemini_task())
    again = gemini_task(session="5e3ee8d4-0000-4000-8000-000000000000", folder=str(tmp_path / "next"))
    second = await started(again)

    kept = tmp_path / "state" / "5e3ee8d4-0000-4000-8000-000000000000"
    assert first.argv[first.argv.index("--session-id") + 1] == kept.name
    assert second.argv[second.argv.index("--resume") + 1] == kept.name
    for folder in ("call", "next"):
        assert (tmp_path / folder / "home" / ".gemini" / "tmp").resolve() == kept


async def test_options_have_their_effect(gemini_task):
    made = await started(
        gemini_task(
            "additive",
            {
                "approval_mode": "auto_edit",
                "allowed_tools": ["read_file", "glob"],
                "include_directories": ["/a", "/b"],
                "max_turns": 7,
                "max_attempts": 2,
                "extra_args": ["--debug"],
                "base_url": "http://localhost:1",
                "api_key": "k",
            },
        )
    )

    line = " ".join(made.argv)
    assert "--approval-mode auto_edit --allowed-tools read_file,glob" in line
    assert line.endswith("--include-directories /a --include-directories /b --debug")
    settings = settings_of(made)
    assert settings["model"]["maxSessionTurns"] == 7
    assert settings["general"]["maxAttempts"] == 2
    assert settings["security"]["auth"]["selectedType"] == "gemini-api-key"
    assert made.env["GOOGLE_GEMINI_BASE_URL"] == "http://localhost:1"
    assert made.env["GEMINI_API_KEY"] == "k"
    assert "GOOGLE_GENAI_USE_VERTEXAI" in made.without


async def test_its_own_tools_cannot_be_allowed_where_ours_are_the_only_ones(gemini_task):
    made = await started(gemini_task("intercept", {"approval_mode": "yolo", "allowed_tools": ["glob"]}))

    assert "--approval-mode" not in made.argv
    assert "--allowed-tools" not in made.argv


async def test_it_is_quiet_in_every_mode(gemini_task, tmp_path):
    for mode in ("intercept", "additive", "native"):
        settings = settings_of(await started(gemini_task(mode, folder=str(tmp_path / mode))))
        assert settings["privacy"] == {"usageStatisticsEnabled": False}
        assert settings["general"]["enableAutoUpdate"] is False
        assert settings["telemetry"] == {"enabled": False}
        assert ("mcpServers" in settings) == (mode != "native")


@pytest.fixture
def users(tmp_path):
    """A user who has signed in and has settings, with comments, as the program allows them."""
    folder = tmp_path / "home" / ".gemini"
    folder.mkdir(parents=True)
    (folder / "settings.json").write_text(
        """{ // mine
        "security": {"auth": {"selectedType": "oauth-personal"}}, /* and
        so on */ "mcpServers": {"mine": {"url": "http://localhost:1//x"}},
        "context": {"fileName": "NOTES.md"}, "privacy": {"usageStatisticsEnabled": true}}""",
        encoding="utf-8",
    )
    for name in ("oauth_creds.json", "google_accounts.json", "installation_id", "GEMINI.md"):
        (folder / name).write_text("mine", encoding="utf-8")
    (folder / "commands").mkdir()
    return folder


def linked(task):
    folder = os.path.join(task.folder, "home", ".gemini")
    return {name for name in os.listdir(folder) if os.path.islink(os.path.join(folder, name))} - {"tmp"}


async def test_the_users_login_is_linked_and_not_copied(gemini_task, users):
    task = gemini_task("intercept")
    settings = settings_of(await started(task))

    assert linked(task) == {"oauth_creds.json", "google_accounts.json", "installation_id"}
    own = os.path.join(task.folder, "home", ".gemini", "oauth_creds.json")
    assert os.path.realpath(own) == str(users / "oauth_creds.json")
    assert settings["security"]["auth"]["selectedType"] == "oauth-personal"
    assert list(settings["mcpServers"]) == ["awf-proxy"]


async def test_with_its_own_tools_it_has_the_users_settings_too(gemini_task, users):
    task = gemini_task("additive")
    settings = settings_of(await started(task))

    assert {"GEMINI.md", "commands", "oauth_creds.json"} <= linked(task)
    assert settings["mcpServers"]["mine"] == {"url": "http://localhost:1//x"}
    assert "awf-proxy" in settings["mcpServers"]
    assert settings["context"]["fileName"] == ["NOTES.md", "AWF.md"]
    assert settings["privacy"] == {"usageStatisticsEnabled": False}
    assert (users / "settings.json").read_text(encoding="utf-8").startswith("{ // mine")


async def test_a_key_of_the_step_needs_no_login(gemini_task, users):
    del users
    task = gemini_task("intercept", {"env": {"GEMINI_API_KEY": "k"}})

    settings = settings_of(await started(task))

    assert linked(task) == set()
    assert settings["security"]["auth"]["selectedType"] == "gemini-api-key"


async def test_another_login_in_the_environment_is_left_to_decide(gemini_task):
    task = gemini_task("intercept", {"env": {"GOOGLE_GENAI_USE_VERTEXAI": "true", "GEMINI_API_KEY": "k"}})

    assert "security" not in settings_of(await started(task))


@pytest.mark.parametrize("broken", ["[]", "{", '{"security": 1}', '{"security": {"auth": []}}'])
async def test_settings_that_cannot_be_read_do_no_harm(gemini_task, users, broken):
    (users / "settings.json").write_text(broken, encoding="utf-8")

    assert "security" not in settings_of(await started(gemini_task("intercept")))


async def test_a_project_cannot_set_what_the_program_would_take_from_its_env_file(gemini_task, tmp_path):
    pinned = await started(gemini_task("intercept"))
    chosen = await started(
        gemini_task("intercept", {"env": {"GEMINI_SYSTEM_MD": "mine.md"}}, folder=str(tmp_path / "b"))
    )

    assert pinned.env["GEMINI_SYSTEM_MD"] == "false"
    assert pinned.env["LD_PRELOAD"] == ""
    assert "GEMINI_SYSTEM_MD" not in chosen.env


def test_our_tools_are_known_by_the_name_we_gave_them():
    assert Gemini().own_tool("mcp_awf-proxy_Read") == "Read"
    assert Gemini().own_tool("read_file") is None
    assert Gemini().own_tool("mcp_other_Read") is None
