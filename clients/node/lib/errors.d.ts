/** What was wrong with the use of the gateway. What comes of a tool is a result, and never thrown. */
export interface GatewayProblem {
    code: string;
    message: string;
    path: Array<string | number>;
    hint: string;
}
export declare class GatewayError extends Error {
    readonly code: string;
    readonly hint: string;
    readonly problems: readonly GatewayProblem[];
    readonly name = "GatewayError";
    constructor(code: string, message: string, hint?: string, problems?: readonly GatewayProblem[]);
}
