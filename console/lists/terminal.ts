/** A list as `curl` asks for it. Pure. */
import { curlLine } from '../shell-words.ts';

/** `path`: below /api/v1. Parameters that are undefined are left out. */
export function curlOfList(
  origin: string,
  path: string,
  parameters: Readonly<Record<string, string | number | boolean | undefined>>,
): string {
  const pairs = Object.entries(parameters).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return curlLine(origin, `${path}?${new URLSearchParams(pairs).toString()}`);
}
