/** What was wrong with the use of the gateway. What comes of a tool is a result, and never thrown. */

export interface GatewayProblem {
  code: string;
  message: string;
  path: Array<string | number>;
  hint: string;
}

export class GatewayError extends Error {
  override readonly name = "GatewayError";

  constructor(
    readonly code: string,
    message: string,
    readonly hint: string = "",
    readonly problems: readonly GatewayProblem[] = [],
  ) {
    super(message);
  }
}
