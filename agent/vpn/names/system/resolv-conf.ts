/** Our resolver before the others in resolv.conf, where this file is nobody's but the machine's. */
import { lstatSync } from 'node:fs';
import { withBlock, withoutBlock } from '../block.ts';
import { editFile } from '../file.ts';
import type { Edited } from '../file.ts';
import { RESOLUTION_BYTES_MAX } from '../limits.ts';
import { beginningOf } from './beginning.ts';

/**
 * Puts our resolver first, or says why not, as the end of a sentence. The others stay behind it: it refuses what is not
 * of the cluster, and then they are asked.
 */
export async function hookResolvConf(path: string, node: string, address: string): Promise<Edited> {
  const reason = objectionTo(path, node);
  if (reason !== null) return reason;
  return editFile(path, (text) => withBlock(text, { node, lines: [`nameserver ${address}`], place: 'first', isOwn }));
}

/** Takes it out again; whatever is there besides stays. Never rejects. */
export async function unhookResolvConf(path: string, node: string): Promise<Edited> {
  try {
    if (!isPlainFile(path)) return null; // nothing was ever put there
  } catch (error) {
    return unreadable(error);
  }
  return editFile(path, (text) => withoutBlock(text, { node, isOwn }));
}

function objectionTo(path: string, node: string): string | null {
  try {
    if (!isPlainFile(path)) return 'it is managed by another program';
    const { text, isWhole } = beginningOf(path);
    if (!isWhole) return `it is larger than ${RESOLUTION_BYTES_MAX} bytes`;
    return objectionIn(withoutBlock(text, { node, isOwn }));
  } catch (error) {
    return unreadable(error);
  }
}

/** What speaks against putting a server that knows one domain before those of this text. */
export function objectionIn(text: string): string | null {
  const lines = text.split('\n').map((line) => line.trim());
  // three servers are asked in all, and one must know the rest of the world
  if (lines.some((line) => line.startsWith('# BEGIN edge-agent '))) return 'another agent has put its resolver there';
  if (!lines.some((line) => /^nameserver\s/u.test(line)))
    return 'it names no server that could be asked for everything else';
  if (lines.some((line) => /^options\s(?:.*\s)?rotate(?:\s|$)/u.test(line)))
    return 'it has servers asked in turn (options rotate)';
  return null;
}

/** Throws where the system does not say: only what is not there is no file. */
function isPlainFile(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

function isOwn(line: string): boolean {
  return /^nameserver 127\.\d+\.\d+\.\d+$/u.test(line);
}

function unreadable(error: unknown): string {
  return `it cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown error'}`;
}
