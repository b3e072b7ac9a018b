/** Values of a program → JSON that says just them. What it cannot say is refused: never left out, and never made null. */
/** Throws a TypeError. `whole`: what is undefined is refused as well; else it counts as left out of its object. */
export declare function exactJson(value: unknown, whole: boolean): string;
