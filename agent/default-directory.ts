/**
 * Where the agent keeps its data unless told otherwise. A file of its own: the program needs it before it loads
 * anything else.
 */
import { homedir } from 'node:os';
import { join } from 'node:path';

/** /var/lib/edge-agent as root, else ~/.local/share/edge-agent. */
export function defaultDataDirectory(): string {
  return process.getuid?.() === 0 ? '/var/lib/edge-agent' : join(homedir(), '.local/share/edge-agent');
}

/** Within it: compiled code, where the program runs from its sources. */
export const CODE_CACHE_DIRECTORY = 'code-cache';
