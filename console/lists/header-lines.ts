/** Headers as somebody writes them, one a line. Pure. */

/** By their names; or the number of the first line that is none. What a header may be is the service's to say. */
export function headersIn(
  text: string,
): { readonly ok: true; readonly headers: Record<string, string> } | { readonly ok: false; readonly line: number } {
  const pairs: [string, string][] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const at = line.indexOf(':');
    const name = line.slice(0, Math.max(0, at)).trim();
    if (name === '') return { ok: false, line: index + 1 };
    pairs.push([name, line.slice(at + 1).trim()]);
  }
  return { ok: true, headers: Object.fromEntries(pairs) };
}
