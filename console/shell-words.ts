/** Lines for a terminal: words of a shell, `edge` and `curl`. Pure. */

/** What a shell leaves as it is, wherever it stands. */
const PLAIN = /^[\w.,:/@%+=-]+$/u;

/** A word of a command: an address that somebody sent may hold anything, and it is only a word all the same. */
export function quoted(text: string): string {
  return PLAIN.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** A command of quoted words; what stands in `plain` is one already, such as `edge node ls`. */
export function commandLine(plain: string, ...words: readonly string[]): string {
  return [plain, ...words.map(quoted)].join(' ');
}

/**
 * A request to the API as curl makes it, with the key from the environment. `path`: below `/api/v1`, with its query,
 * its parts encoded. `origin`: of this admin.
 */
export function curlLine(
  origin: string,
  path: string,
  { method = 'GET', body }: { readonly method?: string; readonly body?: object } = {},
): string {
  return [
    'curl',
    ...(method === 'GET' ? [] : ['-X', method]),
    '-H "Authorization: Bearer $EDGE_API_KEY"',
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", '-d', quoted(JSON.stringify(body))]),
    `'${origin}/api/v1${path.replaceAll("'", '%27')}'`,
  ].join(' ');
}

/** A live feed of tRPC as curl follows it, as server-sent events, until somebody ends it. */
export function feedLine(origin: string, feed: string, input: object): string {
  const asked = encodeURIComponent(JSON.stringify(input)).replaceAll("'", '%27');
  return `curl -N -H "Authorization: Bearer $EDGE_API_KEY" '${origin}/api/trpc/${feed}?input=${asked}'`;
}
