/** Values of a program → JSON that says just them. What it cannot say is refused: never left out, and never made null. */
const PLAIN = new Set(["[object Object]", "[object Array]"]);
/** Throws a TypeError. `whole`: what is undefined is refused as well; else it counts as left out of its object. */
export function exactJson(value, whole) {
    return JSON.stringify(value, function (key, said) {
        const what = unsayable(this, key, said, whole);
        if (what !== "") {
            throw new TypeError(`${key} is ${what}`);
        }
        return said;
    });
}
/** What a value is that JSON has no word for; empty where it has one. `said`: its own form (`toJSON`), where it has one. */
function unsayable(holder, key, said, whole) {
    switch (typeof said) {
        case "number":
            return Number.isFinite(said) ? "" : String(said);
        case "function":
        case "symbol":
            return `a ${typeof said}`;
        case "undefined":
            return whole || Array.isArray(holder) || holder[key] !== undefined ? "undefined" : "";
        case "object": {
            const given = Object.prototype.toString.call(holder[key]).slice(8, -1);
            if (said === null) {
                return holder[key] === null ? "" : `an invalid ${given}`;
            }
            return PLAIN.has(Object.prototype.toString.call(said)) ? "" : `a ${given}`;
        }
        default:
            return "";
    }
}
