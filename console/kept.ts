/** What this browser keeps of somebody's choices. Anybody may have written it: whoever reads it checks it. */

/** Longest text that is kept under one name, in characters. */
const KEPT_CHARACTERS_MAX = 100_000;

/** What is kept; undefined: nothing, or nothing that can be read. */
export function readKept(name: string): unknown {
  try {
    const text = localStorage.getItem(name);
    return text === null || text.length > KEPT_CHARACTERS_MAX ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return undefined;
  }
}

/** Keeps it, as far as the browser keeps anything. */
export function keep(name: string, value: unknown): void {
  try {
    localStorage.setItem(name, JSON.stringify(value));
  } catch {
    // a browser that keeps nothing: it holds as long as the page
  }
}
