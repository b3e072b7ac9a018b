/** What was wrong with the use of the gateway. What comes of a tool is a result, and never thrown. */
export class GatewayError extends Error {
    code;
    hint;
    problems;
    name = "GatewayError";
    constructor(code, message, hint = "", problems = []) {
        super(message);
        this.code = code;
        this.hint = hint;
        this.problems = problems;
    }
}
