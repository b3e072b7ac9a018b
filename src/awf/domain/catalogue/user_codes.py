"""What the person at the keyboard can mend."""

from __future__ import annotations

from awf.domain.catalogue.entry import Entry

__all__ = ["USER_CODES"]

USER_CODES: dict[str, Entry] = {
    "USER.INPUT.USAGE": Entry(
        "The command line does not make sense",
        "An option is unknown, a value is missing, or two options contradict each other.",
        "Run the command with --help to see what it takes.",
    ),
    "USER.INPUT.MISSING_FILE": Entry(
        "A file that was named does not exist",
        "A workflow, prompt, script or configuration file could not be found where it was looked for.",
        "Check the spelling and the working directory; `awf list` shows the workflows that are found.",
    ),
    "USER.INPUT.INVALID_FORMAT": Entry(
        "An input is not written as name=value",
        "Inputs on the command line are given as --input name=value, once per input.",
        "Write --input name=value; use --input name=@FILE to take the value from a file.",
    ),
    "USER.INPUT.VALIDATION_FAILED": Entry(
        "One or more inputs are missing or wrong",
        "A required input has no value, a value has the wrong type, or a rule under `validation` is broken.",
        "`awf plan WORKFLOW` lists the inputs with their types; give each with --input name=value.",
    ),
    "USER.INPUT.MISSING_ENV": Entry(
        "A required environment variable is not set",
        "The workflow lists the variable under `env`, and the environment does not have it.",
        "Set the variable and run again.",
    ),
    "USER.INPUT.MISSING_ROLE": Entry(
        "A role was not found",
        "`role` names a directory with an AGENTS.md; none of the searched directories has it.",
        "Create .awf/roles/NAME/AGENTS.md, or set AWF_ROLES_PATH.",
    ),
    "USER.INPUT.MISSING_SKILL": Entry(
        "A skill was not found",
        "`skills` names directories with a SKILL.md; none of the searched directories has this one.",
        "Create .awf/skills/NAME/SKILL.md, or set AWF_SKILLS_PATH.",
    ),
    "USER.CONFIG.INVALID": Entry(
        "A configuration file is wrong",
        "A key in .awf/config.yaml, .awf/plugins.yaml, a plugin.yaml or the file of `awf mcp-serve` is unknown, or has "
        "a value of the wrong type.",
        "docs/reference/config.md lists the keys; `awf config show` prints every setting with its origin.",
    ),
    "USER.ACP.USAGE": Entry(
        "The command line of `awf acp-serve` does not make sense",
        "An option is unknown or lacks its value, or a file or folder it names cannot be used.",
        "Run `awf acp-serve --help`; mend the arguments in the settings of the editor.",
    ),
    "USER.ACP.NO_EDITOR": Entry(
        "`awf acp-serve` was started by hand",
        "It speaks the Agent Client Protocol on standard input and output, and a terminal is no editor.",
        "Name `awf acp-serve` as an agent in the settings of the editor: docs/editors.md shows how.",
    ),
    "USER.ACP.PARSE_ERROR": Entry(
        "The editor sent a line that is no JSON",
        "Each message is one line of UTF-8 JSON.",
        "A fault of the editor or of what stands between; --trace-wire FILE shows what was sent.",
    ),
    "USER.ACP.INVALID_REQUEST": Entry(
        "The editor sent a message that is no request",
        "It has no method, an id of a wrong kind, is longer than 10 MiB, or comes before `initialize`.",
        "A fault of the editor; --trace-wire FILE shows what was sent.",
    ),
    "USER.ACP.UNKNOWN_METHOD": Entry(
        "The editor asked for something this protocol version does not have",
        "The method is not one that awf offers.",
        "Nothing needs to be done; editors try what an agent may have.",
    ),
    "USER.ACP.INVALID_PARAMS": Entry(
        "The editor sent a request with wrong parameters",
        "A field is missing or has a value of the wrong type.",
        "A fault of the editor; the message names the field.",
    ),
    "USER.ACP.UNKNOWN_SESSION": Entry(
        "There is no such session",
        "It was deleted, or was never made on this machine.",
        "Start a new thread in the editor.",
    ),
    "USER.ACP.MISSING_FOLDER": Entry(
        "The working directory of the session does not exist",
        "A session needs the absolute path of a folder that is there.",
        "Open an existing folder in the editor.",
    ),
    "USER.ACP.PROMPT_IN_FLIGHT": Entry(
        "A prompt is already running in this session",
        "A session does one thing at a time.",
        "Wait for the end of the turn or cancel it; for work side by side open another thread.",
    ),
    "USER.ACP.UNKNOWN_OPTION": Entry(
        "There is no such mode or option, or no such value",
        "The editor set something that the session does not offer.",
        "The answer to `session/new` lists what there is.",
    ),
    "USER.ACP.UNSUPPORTED_CONTENT": Entry(
        "The prompt holds something a workflow cannot take",
        "Workflows take text: typed text, links to files and text files. Images, sound and binary data have no place "
        "in their inputs.",
        "Leave it out, or name a file by its path.",
    ),
    "USER.ACP.UNKNOWN_WORKFLOW": Entry(
        "There is no workflow of this name",
        "The first word of the prompt names no workflow that is found for the folder of the session.",
        "`/workflows` lists what there is, and what could not be read.",
    ),
    "USER.ACP.INVALID_INPUT": Entry(
        "The inputs after the slash command are missing or wrong",
        "A required input has no value, or a value breaks a rule of its definition.",
        "Write /name input=value; quote a value that has spaces.",
    ),
    "USER.ACP.RUN_ELSEWHERE": Entry(
        "The conversation is going on in another process",
        "A run has one owner at a time, and another window or command has this one.",
        "Answer there, or close it there first.",
    ),
    "USER.GRANT.INVALID": Entry(
        "This cannot be granted",
        "A capability is a scope or an action; `*` stands alone, or at the end behind a dot or a colon. Times are numbers.",
        "Write it as in `awf grant add file.read --expires 1h`; docs/grants.md says what covers what.",
    ),
    "USER.GRANT.DUPLICATE": Entry(
        "There is such a grant already",
        "Each grant has an id of its own, and what was granted under one cannot be changed.",
        "Leave the id out to get a new one; `awf grant list --all` shows those there are.",
    ),
    "USER.GRANT.UNKNOWN": Entry(
        "There is no such grant",
        "No grant has this id. Those that are over are forgotten after thirty days.",
        "`awf grant list --all` shows those there are.",
    ),
    "USER.APPROVAL.UNKNOWN": Entry(
        "There is no such approval",
        "Nobody asked for it here, or it was over long ago; an id that somebody made up is none.",
        "`awf gateway approvals` shows the open ones; AWF_STORAGE or --storage says in which store.",
    ),
    "USER.APPROVAL.REFUSED": Entry(
        "The approval cannot be used or answered",
        "It is about another call (another tool, other arguments, another context), was used or answered already, or its "
        "time is over. An approval is good for one call.",
        "Make the call again, so that a new question is asked; `awf gateway approvals` shows the open ones.",
    ),
    "USER.CONTEXT.INVALID": Entry(
        "This cannot be the id of a security context",
        "An id is a printable text of at most 256 characters.",
        "Take the one that `awf gateway context new` prints.",
    ),
    "USER.CONTEXT.UNKNOWN": Entry(
        "There is no such security context",
        "With `levels.contexts: minted`, clients may only name contexts that a person made.",
        "Make one with `awf gateway context new`, and have the client name it in X-AWF-Context.",
    ),
    "USER.GATEWAY.UNKNOWN_TOOL": Entry(
        "An override, a rule or a call names a tool that its server does not have",
        "The server was asked, and no tool of that name is among those it offers.",
        "Correct the name before the colon or after it; the hint names the closest tool.",
    ),
    "USER.GATEWAY.NAME_COLLISION": Entry(
        "Two tools would be published under one name",
        "A tool was renamed to a name that another one has, or two names become the same once they are made legal.",
        "Rename one of them in `overrides`, or leave one out with `deny`.",
    ),
    "USER.GATEWAY.RESERVED_NAME": Entry(
        "A tool is named like a request, and is not offered",
        "`SERVER:resources/read` and its like mean requests to rules, overrides and the audit; a tool of that name would get the override of the request.",
        "Leave it out with `deny`, or have its server call it something else.",
    ),
    "USER.GATEWAY.UNKNOWN_FIELD": Entry(
        "An override names a field that the tool does not have",
        "The path leads to no field in the tool's input or output schema.",
        "Correct the path; the hint names the closest field.",
    ),
    "USER.GATEWAY.HIDDEN_REQUIRED": Entry(
        "A required field is hidden without a value",
        "The server needs the field, always or together with another, and no call would have it.",
        "Add it under `defaults`, or do not hide it.",
    ),
    "USER.GATEWAY.INVALID_OVERRIDE": Entry(
        "An override cannot be applied",
        "Its parts contradict each other, a value does not fit, or the schema does not let the change be proven right.",
        "Follow the message; leave out the part it names.",
    ),
    "USER.GATEWAY.INVALID_FILE": Entry(
        "The gateway's configuration is wrong",
        "A key is unknown, a value has the wrong type, or a name cannot be used.",
        "Follow the message; it names the place in the file.",
    ),
    "USER.GATEWAY.EMPTY": Entry(
        "The gateway's configuration names no server",
        "Without a server there is nothing to serve.",
        "Add one under `mcpServers`; `awf mcp import` takes over those of other clients.",
    ),
    "USER.GATEWAY.INVALID_SERVER": Entry(
        "A server of the gateway is described in a way that cannot work",
        "It has neither a command nor a url, or values that contradict each other or are not legal.",
        "Correct the server under `mcpServers`; the message names the key.",
    ),
    "USER.GATEWAY.INVALID_MANIFEST": Entry(
        "A manifest cannot be registered",
        "A key is missing or unknown, a value has the wrong type, or a name cannot be used. Nothing of it was registered.",
        "Follow the messages; all that is wrong is told at once. docs/tool-gateway.md has the form.",
    ),
    "USER.GATEWAY.INVALID_ANNOTATION": Entry(
        "An annotation of a tool is not one that is supported",
        "Annotations decide what may be called, so one that nobody understands is refused. With a strict policy each tool must "
        "say its `policyAction`.",
        "Correct it; docs/tool-gateway.md lists the annotations, docs/policy.md the actions.",
    ),
    "USER.GATEWAY.INVALID_SCHEMA": Entry(
        "A schema of a tool is not valid",
        "`inputSchema` and `outputSchema` are JSON Schemas (draft 2020-12) that refer to nothing outside of them; arguments are an object.",
        "Correct the schema; the message tells the place.",
    ),
    "USER.GATEWAY.DUPLICATE_SERVER": Entry(
        "There is a server of this id already",
        "Tools are known as SERVER:TOOL, so each server id is there once, whether it came with a manifest or a configuration.",
        "Choose another id, or begin anew with `reset`.",
    ),
    "USER.GATEWAY.DUPLICATE_TOOL": Entry(
        "A manifest has two tools of one name",
        "Tools are known as SERVER:TOOL, so each name is there once for each server.",
        "Rename or remove one of the two.",
    ),
    "USER.GATEWAY.INVALID_CALL": Entry(
        "The tool gateway was not called as it has to be",
        "A parameter is missing, unknown or of the wrong type, or a value has no JSON form. Nothing was called.",
        "Follow the message; docs/tool-gateway.md has the forms.",
    ),
    "USER.GATEWAY.UNKNOWN_ARTIFACT": Entry(
        "There is no such long result",
        "The address is none of a result that was put aside, it belongs to another session, or it is no longer kept (`spool.retention`).",
        "Take the address from `meta.outputSpool.uri` of the result.",
    ),
    "USER.GATEWAY.CLOSED": Entry(
        "The tool gateway is closed",
        "After `close` nothing can be called; its servers have ended.",
        "Make a new one.",
    ),
    "USER.GATEWAY.UNKNOWN_SERVER": Entry(
        "An override or a profile names a server that is not there",
        "Tools are named SERVER:TOOL, and no server under `mcpServers` has this name.",
        "Correct the name; the hint has the closest one.",
    ),
    "USER.SANDBOX.UNKNOWN_PROFILE": Entry(
        "No sandbox profile has this name",
        "Built in are none, workspace and restricted; others stand under `sandbox.profiles`.",
        "Correct the name, or add the profile.",
    ),
    "USER.SANDBOX.OUT_OF_REACH": Entry(
        "The sandbox hides what the program needs to start",
        "Its program or folder lies where the profile shows nothing, or a listed path leads out of the project.",
        "Add the place to `read` or `write` of a profile of your own.",
    ),
    "USER.SANDBOX.STORAGE_IN_REACH": Entry(
        "The sandbox would show what AWF itself keeps",
        "The directory with the audit, its keys, grants and runs lies in a place that the profile shows, such as the project's folder or /opt.",
        "Choose a directory elsewhere with --storage DIR or AWF_STORAGE.",
    ),
    "USER.SANDBOX.GATE_IN_REACH": Entry(
        "The sandbox could not keep what governs AWF from programs",
        "The gate's file, or another that AWF is led by, lies right in a place that the profile lets programs change, or behind a link in one.",
        "Give the file a folder of its own, such as `.awf`; put a real folder in the place of a link.",
    ),
    "USER.SANDBOX.FOLDER_REPLACED": Entry(
        "The folder of the gateway's file was replaced while programs ran",
        "A running program is kept from the folder that was there when it started. What lies in the new one it may have changed.",
        "Stop the gateway, look at what stands in the folder, and start it again.",
    ),
    "USER.GATEWAY.OPEN_DOOR": Entry(
        "The gateway would be open to others",
        "It listens beyond this machine without tokens, or a token is empty or stands in the file itself.",
        "Give `listen.tokens` as ${env:NAME} or ${file:PATH}, or `listen.oauth`, or listen at 127.0.0.1.",
    ),
    "USER.GATEWAY.INVALID_PINS": Entry(
        "The pinned definitions of tools cannot be read",
        "The file named under `pinning.file` is damaged, is something else, cannot be opened, or was written by a newer "
        "version. Going on without it would trust whatever the servers offer now.",
        "Restore the file from a copy, or remove it to trust what the servers offer next; or name another file under "
        "`pinning.file`.",
    ),
    "USER.GATEWAY.INVALID_REFERENCE": Entry(
        "A reference in the gateway's configuration has no value",
        "A ${…} is not one that there is, names a variable that is not set, a file that cannot be read or a header that "
        "was not sent, or has a value only in a call.",
        "Correct the reference or set what it names; $${ stands for a plain ${.",
    ),
    "USER.PLUGIN.UNKNOWN": Entry(
        "There is no such plugin",
        "Neither .awf/plugins.yaml nor a plugin folder declares it, or it is switched off there.",
        "`awf plugin list` shows the plugins that are found here; `awf plugin new NAME` writes one.",
    ),
    "USER.PLUGIN.UNKNOWN_OPERATION": Entry(
        "A plugin has no such operation",
        "The plugin was asked, and the name is not among those it offers.",
        "`awf plugin check NAME` lists what it offers.",
    ),
    "USER.PLUGIN.UNKNOWN_STEP_TYPE": Entry(
        "A plugin has no such step type",
        "The plugin was asked, and the name is not among those it offers.",
        "`awf plugin check NAME` lists what it offers.",
    ),
    "USER.PLUGIN.CONFIG": Entry(
        "A plugin's configuration does not fit",
        "A key is missing, unknown or of the wrong type, or a ${env:NAME} names a variable that is not set.",
        "Correct `config` or `env` of the plugin in .awf/plugins.yaml, or set the variable.",
    ),
    "USER.PLUGIN.VERSION": Entry(
        "A plugin is for another version of awf",
        "`awf_version` in its plugin.yaml excludes this version.",
        "Install a version of the plugin that fits, or another awf.",
    ),
    "USER.MCP_PROXY.UNKNOWN_KEY": Entry(
        "A key in an mcp_proxy block is not known",
        "The block knows enable, intercept_builtins, plugin_tools, mcp_servers, approve and approve_timeout; "
        "what lies inside them is checked as well.",
        "Check the spelling; docs/reference/workflow.md lists the keys.",
    ),
    "USER.MCP_PROXY.UNKNOWN_PLUGIN": Entry(
        "A plugin that tools should come from does not exist",
        "plugin_tools names a plugin that neither .awf/plugins.yaml nor a plugin folder declares.",
        "`awf plugin list` shows the plugins that are found here.",
    ),
    "USER.MCP_PROXY.UNKNOWN_OPERATION": Entry(
        "A plugin has no such operation",
        "expose names an operation that the plugin does not offer, or whose inputs cannot be described to an agent.",
        "`awf plugin check NAME` lists what the plugin offers.",
    ),
    "USER.MCP_PROXY.NAME_COLLISION": Entry(
        "Two tools would have the same name",
        "Built-in tools, plugin operations (PLUGIN_OPERATION) and tools of MCP servers share one list of names.",
        "Expose only one of the two, or rename the plugin or server.",
    ),
    "USER.MCP_PROXY.EMPTY_PROXY": Entry(
        "A proxy offers nothing",
        "It is enabled, does not intercept the built-in tools, and adds no plugin tools or MCP servers.",
        "Add plugin_tools or mcp_servers, set intercept_builtins: true, or remove the block.",
    ),
    "USER.MCP_PROXY.UNSUPPORTED_PROVIDER": Entry(
        "The agent may use tools beside those of the proxy",
        "A warning: this provider cannot be kept to the proxy's tools, so calls of its own tools bypass AWF.",
        "Use a provider with guaranteed isolation where every call must be seen.",
    ),
    "USER.MCP_PROXY.INFINITE_LOOP_GUARD": Entry(
        "A model says that it calls tools, and calls none",
        "An OpenAI-compatible API ended its answer with finish_reason tool_calls and without a tool call. Going on would "
        "never end.",
        "Try another model, or one that is known to call tools.",
    ),
    "USER.MCP_PROXY.INVALID_SERVER": Entry(
        "An MCP server is described in a way that cannot work",
        "It has neither a command nor a url, or values that contradict each other or are not legal.",
        "docs/reference/workflow.md describes the keys of a server.",
    ),
    "USER.AUDIT.NOT_FOUND": Entry(
        "There is no such record, or no audit here",
        "Nothing has been recorded in this storage directory, or the log has no record with this number.",
        "`awf audit list` shows what there is; --storage DIR looks elsewhere.",
    ),
    "USER.AUDIT.NO_EVIDENCE": Entry(
        "What the log is to be held against, or the export that is to be checked, is none",
        "`--key` takes a public key (32 bytes in Base64, as `signing.pub` beside the log has it) or a file with one in each line, `--witness` a file "
        "with checkpoints, and an export has records. What is empty or something else vouches for nothing.",
        "Take the key or the witness file that you kept elsewhere; `awf audit verify --help` says more.",
    ),
    "USER.RUN.NOT_FOUND": Entry(
        "No run has this id",
        "The id (or its beginning) matches no run in the store, or it matches several.",
        "`awf history` lists the runs.",
    ),
    "USER.RUN.NOT_RESUMABLE": Entry(
        "The run cannot be resumed",
        "The run has already completed.",
        "Start again with `awf rerun RUN`, or from one step with `awf rerun RUN --from STEP`.",
    ),
    "USER.RUN.BUSY": Entry(
        "Another process is running this run",
        "Exactly one process may own a run, and a living one holds it.",
        "Watch it with `awf logs -f RUN`, or stop it with `awf cancel RUN`.",
    ),
    "USER.WORKER.NO_DATABASE": Entry(
        "Workers need a database",
        "Runs are handed from machine to machine through PostgreSQL, and no database is set.",
        "Set AWF_DATABASE_URL, or `database: {url: …}` in the configuration.",
    ),
    "USER.WORKER.NAME_TAKEN": Entry(
        "Two workers cannot have one name",
        "By its name others see whether a worker is alive, and take over its runs when it is not.",
        "Choose another --name, or leave it out: then it is made of host and process.",
    ),
    "USER.RUN.DEFINITION_CHANGED": Entry(
        "The workflow file has changed since the run started",
        "A resumed run continues with the definition it started with, which is stored with the run.",
        "Nothing needs to be done. To use the new file, start a new run with `awf rerun RUN --from STEP`.",
    ),
    "USER.RUN.UNKNOWN_STEP": Entry(
        "The step is not in this run",
        "`--from` must name a state that the earlier run reached.",
        "`awf show RUN` lists the steps of a run.",
    ),
    "USER.RUN.NOTHING_WAITING": Entry(
        "Nothing is waiting for an answer",
        "The run has no open approval or question, or the named one has been answered.",
        "`awf status RUN` shows what a run is waiting for.",
    ),
    "USER.CODE.UNKNOWN": Entry(
        "No such error code",
        "`awf explain` knows the codes of this version only.",
        "`awf explain` without an argument lists them all.",
    ),
    "USER.FILE.EXISTS": Entry(
        "The file is already there",
        "Nothing is overwritten without being asked to.",
        "Choose another name, or pass --force.",
    ),
}
