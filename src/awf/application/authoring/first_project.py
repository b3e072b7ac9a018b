"""The texts of a first project."""

from __future__ import annotations

__all__ = ["CONFIG", "EXAMPLE", "IGNORED"]

EXAMPLE = """\
#
# A first workflow. It needs no account and no network.
#
#   awf run NAME                     run it
#   awf run NAME -i name=Ada         run it with another input
#   awf plan NAME                    see what it would do, without doing it
#   awf validate NAME                check it after a change
#
name: NAME_IN_YAML
description: Count what is in this folder, let an agent comment on it, and decide by the count

# Values given at the start. Templates use them as {{ inputs.name }}.
inputs:
  - name: name
    description: Whom to greet
    default: world
  - name: large
    type: integer
    description: From how many entries on the folder counts as large
    default: 20

states:
  initial: count

  # A step runs a shell command. `capture` gives its output a name.
  count:
    type: step
    command: ls -A | wc -l
    capture: {stdout: entries}
    on_success: comment

  # An agent gets a prompt and answers. This one plays a script; for a real one change `provider`
  # and the options that belong to it.
  comment:
    type: agent
    provider: scripted
    prompt: |
      {{ vars.entries | trim }} files and folders are in this folder.
      Greet {{ inputs.name }} and tell it in one sentence.
    options:
      turns:
        - Hello {{ inputs.name }}, I count {{ vars.entries | trim }} here.
    # The first condition that holds shows the way; on_success is for when none does.
    transitions:
      - when: states.count.json >= inputs.large
        goto: large
    on_success: small

  # A terminal state ends the workflow. Its message goes to standard output.
  small:
    type: terminal
    message: "{{ states.comment.output }} That is a small folder."
  large:
    type: terminal
    message: "{{ states.comment.output }} That is a large folder."
"""

CONFIG = """\
# Settings of this project. A flag or an environment variable wins over this file, this file over
# config.yaml in your configuration directory. `awf config show` tells what holds and why.

# Values for inputs that a workflow declares and nobody gives: {name: value}
inputs: {}

# Where runs are kept, seen from this folder. Without it they are in your data directory.
# storage: .awf/runs

# A PostgreSQL that several machines share; runs are then kept there, and workers can carry them out.
# database:
#   url: postgresql://user@host/name

# The file with the key that signs the audit, where several machines share one.
# audit:
#   key: /run/secrets/awf-audit-key

# What is logged of a run, beside what is shown.
# log:
#   level: info              # debug, info, warning or error
#   format: console          # or json: one object per line
#   file: awf.log            # instead of standard error

# Where traces go, over OTLP/HTTP.
# telemetry:
#   endpoint: http://localhost:4318
#   service_name: awf
"""

IGNORED = """\
# Runs, if config.yaml keeps them here.
runs/
"""
