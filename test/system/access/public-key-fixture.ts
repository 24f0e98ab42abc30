/** Public keys that OpenSSH's own program made. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { parsePublicKey } from '../../../actors/ssh/public-key.ts';
import { keyPair } from '../../support/ssh/openssh.ts';
import type { Scope } from '../../support/scope.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** The files of one key, and its fingerprint. */
export interface MadeKey {
  readonly kind: string;
  readonly file: string;
  readonly line: string;
  readonly fingerprint: string;
}

/** Makes a key in a directory of its own. */
export async function madeKey(scope: Scope, kind: string, bits?: number): Promise<MadeKey> {
  const file = await keyPair(join(temporaryDirectory(scope), 'key'), kind, bits);
  return { kind, file, line: readFileSync(`${file}.pub`, 'utf8'), fingerprint: fingerprintBy(`${file}.pub`) };
}

/** The fingerprint that ssh-keygen shows of a file. */
export function fingerprintBy(file: string): string {
  const shown = execFileSync('ssh-keygen', ['-lf', file], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  return shown.split(' ')[1] ?? '';
}

/** What is wrong with a text; null: it is a key. */
export function problemOf(text: string): string | null {
  const parsed = parsePublicKey(text);
  return parsed.ok ? null : parsed.problem;
}
