/**
 * Host keys that are trusted on first use, in the file that OpenSSH keeps them in, for machines whose keys the service
 * does not know.
 */
import { createHmac } from 'node:crypto';
import { appendFileSync, readFileSync } from 'node:fs';
import type { Environment } from '../service/contexts.ts';
import { knownHostsFile } from './openssh.ts';

/**
 * Whether the key of a host is that which was seen first; one that is seen for the first time is kept. Keys are lines
 * of OpenSSH without comments. Throws the error of the system where the file cannot be used.
 */
export function isTrustedOnFirstUse(host: string, key: string, env: Environment): boolean {
  const file = knownHostsFile(env);
  const text = textOf(file);
  const seen = text.split('\n').flatMap((line) => {
    const [names = '', algorithm = '', blob = ''] = line.split(' ');
    return names.split(',').some((name) => isName(name, host)) ? [`${algorithm} ${blob}`] : [];
  });
  if (seen.length > 0) return seen.includes(key);
  appendFileSync(file, `${text === '' || text.endsWith('\n') ? '' : '\n'}${host} ${key}\n`, { mode: 0o600 });
  return true;
}

/** A name as it stands there: plain, or hashed with its salt. Source: sshd(8), SSH_KNOWN_HOSTS FILE FORMAT. */
function isName(name: string, host: string): boolean {
  const [, version, salt, hash] = name.split('|');
  if (version !== '1' || salt === undefined) return name === host;
  return createHmac('sha1', Buffer.from(salt, 'base64')).update(host).digest('base64') === hash;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
