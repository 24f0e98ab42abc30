/** A program that is not ours and that tests talk to: a broker, its command-line client, a browser. */
import { homedir } from 'node:os';
import { join } from 'node:path';

/** How it is found, and how it comes onto a machine. */
export interface Peer {
  readonly name: string;
  /** Where it is (usually the path of its executable), or null. Quick, and changes nothing. */
  found(): Promise<string | null>;
  /** Brings it onto this machine, within minutes. Rejects where that cannot be done here, saying why in one line. */
  install(): Promise<void>;
}

/** A directory of this user for what a peer downloads; it may not exist yet. */
export function peerCache(name: string): string {
  return join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'edge-fleet-tests', name);
}
