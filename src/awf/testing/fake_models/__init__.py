"""A scripted stand-in for model APIs, so that real agents can be tested offline.

It speaks Anthropic Messages, Gemini generateContent, OpenAI Responses and Chat Completions on loopback, answers from a
scenario, and keeps what it was asked: which tools an agent offered to its model, and what came back from them.
docs/testing.md describes scenario files.
"""

from awf.testing.fake_models.scenario import Scenario, ScenarioError
from awf.testing.fake_models.server import FakeModelServer

__all__ = ["FakeModelServer", "Scenario", "ScenarioError"]
