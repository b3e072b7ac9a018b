/** JSON-RPC over the standard streams of a program that is started: one message a line. */
export interface Started {
    command: string;
    args: string[];
    cwd: string | undefined;
    env: Record<string, string | undefined>;
}
export declare class Lines {
    #private;
    constructor(started: Started, onEvent: (event: unknown) => void);
    request(method: string, params: unknown[], signal?: AbortSignal): Promise<unknown>;
    /** Waits until the process is gone; one that does not go is made to. */
    close(): Promise<void>;
}
