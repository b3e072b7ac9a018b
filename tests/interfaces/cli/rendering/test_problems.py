from __future__ import annotations

from awf.domain.errors import AwfError, InvalidWorkflowError
from awf.domain.problem import Place, Problem
from awf.interfaces.cli.rendering.problems import (
    error_document,
    error_lines,
    problem_lines,
    problem_summary,
    problems_document,
)

MISSING = Problem(
    code="WORKFLOW.VALIDATION.MISSING_STATE",
    message="State 'tset' does not exist.",
    place=Place("examples/x.yaml", 12, 17),
    source_line="    on_success: tset",
    hint="did you mean 'test'?",
)
LONELY = Problem(
    code="WORKFLOW.VALIDATION.UNREACHABLE_STATE",
    message="No way leads to 'lonely'.",
    path=("states", "lonely"),
    severity="warning",
)


def carets(source, column):
    problem = Problem(code="X.Y.Z", message="m", place=Place("f", 3, column), source_line=source)
    shown, marks = problem_lines([problem])[2:4]
    return shown.partition("| ")[2], marks.partition("| ")[2]


def test_a_problem_points_at_the_word():
    assert problem_lines([MISSING]) == [
        "examples/x.yaml:12:17: error WORKFLOW.VALIDATION.MISSING_STATE",
        "  State 'tset' does not exist.",
        "   12 |     on_success: tset",
        "      |                 ^^^^",
        "  hint: did you mean 'test'?",
        "1 error in 1 file.",
    ]


def test_a_problem_without_a_place_is_named_by_its_node():
    assert problem_lines([LONELY]) == [
        "states.lonely: warning WORKFLOW.VALIDATION.UNREACHABLE_STATE",
        "  No way leads to 'lonely'.",
        "1 warning.",
    ]


def test_a_problem_of_the_whole_file_has_no_source_line():
    whole = Problem(
        code="WORKFLOW.PARSE.ENCODING", message="Not UTF-8.\nByte 3.", place=Place("x.yaml"), source_line="a"
    )
    assert problem_lines([whole]) == [
        "x.yaml: error WORKFLOW.PARSE.ENCODING",
        "  Not UTF-8.",
        "  Byte 3.",
        "1 error in 1 file.",
    ]


def test_the_last_line_counts():
    other = Problem(code="A.B.C", message="m", place=Place("other.yaml", 1, 1))
    assert problem_summary([MISSING, other, other, LONELY]) == "3 errors, 1 warning in 2 files."
    assert problem_summary([]) == "No problems."


def test_carets_cover_what_is_meant():
    assert carets("a: [one, two]", 5) == ("a: [one, two]", "    ^^^")
    assert carets("a: 'one two' # why", 4) == ("a: 'one two' # why", "   ^^^^^^^^^")
    assert carets('a: "x \\" y"', 4)[1] == "   ^^^^^^^^"
    assert carets("key: value", 1)[1] == "^^^"
    assert carets("a: {{ inputs.x }} b", 4)[1] == "   ^^^^^^^^^^^^^^"
    assert carets("a:", 3)[1] == "  ^"


def test_carets_stand_right_below_wide_characters_and_tabs():
    assert carets("名: x", 4) == ("名: x", "    ^")
    assert carets("\ta: x", 5) == ("\ta: x", "\t   ^")


def test_escape_sequences_in_a_file_do_not_shift_the_carets():
    assert carets("a: \x1b[31m bad", 10) == ("a:  bad", "    ^^^")


def test_a_very_long_line_is_shown_around_the_place():
    shown, marks = carets("k: " + "x" * 500 + " here " + "y" * 500, 505)
    assert len(shown) <= 121
    assert shown[marks.index("^") :].startswith("here")
    assert marks.strip() == "^^^^"


def test_color_only_when_told():
    assert "\x1b" not in "".join(problem_lines([MISSING, LONELY]))
    assert "\x1b[31merror\x1b[0m" in problem_lines([MISSING], color=True)[0]
    assert "\x1b[33mwarning\x1b[0m" in problem_lines([LONELY], color=True)[0]


def test_problems_for_programs():
    assert problems_document([MISSING, LONELY]) == {
        "valid": False,
        "problems": [
            {
                "code": "WORKFLOW.VALIDATION.MISSING_STATE",
                "severity": "error",
                "message": "State 'tset' does not exist.",
                "file": "examples/x.yaml",
                "line": 12,
                "column": 17,
                "hint": "did you mean 'test'?",
            },
            {
                "code": "WORKFLOW.VALIDATION.UNREACHABLE_STATE",
                "severity": "warning",
                "message": "No way leads to 'lonely'.",
                "file": None,
                "line": None,
                "column": None,
                "hint": "",
            },
        ],
    }
    assert problems_document([LONELY])["valid"]
    assert problems_document([]) == {"valid": True, "problems": []}


def test_an_error_ends_with_something_to_type():
    error = AwfError("USER.RUN.NOT_FOUND", "No run begins with '01X'.", hint="`awf history` lists the runs.")
    assert error_lines(error) == [
        "error: No run begins with '01X'.",
        "  USER.RUN.NOT_FOUND",
        "  hint: `awf history` lists the runs.",
        "  awf explain USER.RUN.NOT_FOUND",
    ]
    assert error_document(error) == {
        "error": {
            "code": "USER.RUN.NOT_FOUND",
            "message": "No run begins with '01X'.",
            "hint": "`awf history` lists the runs.",
            "exit_status": 1,
        }
    }


def test_an_error_cannot_smuggle_escape_sequences():
    assert error_lines(AwfError("A.B.C", "x\x1b[2Jy\nz\x07", hint="\x1b[0mh")) == [
        "error: xy",
        "  z",
        "  A.B.C",
        "  hint: h",
        "  awf explain A.B.C",
    ]


def test_an_invalid_workflow_shows_all_its_problems():
    error = InvalidWorkflowError([MISSING, LONELY])
    assert error_lines(error) == problem_lines([MISSING, LONELY])
    assert error_document(error)["problems"] == problems_document([MISSING, LONELY])["problems"]
    assert error_document(error)["error"]["exit_status"] == 2
