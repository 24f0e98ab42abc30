/** SSH usernames and public keys by what people call them. */
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import type { Api, Outputs } from '../service/client.ts';
import { canBeginId, idOf } from './id-names.ts';
import { nodeIdOf } from './node-names.ts';
import { EXIT, Problem } from '../problem.ts';
import { isUuid, shortId } from '../table/short-ids.ts';

/** What a username looks like: a wildcard would find others. */
const USERNAME = /^[a-z_][a-z0-9_-]*$/u;

/** Nodes that are named when several have the username. */
const NODES_NAMED_MAX = 3;

type SshUsername = Outputs['list_ssh_usernames']['data'][number];

/**
 * The id of the username that is meant: by id, `NODE/USERNAME`, its name where one node has it, or the unique beginning
 * of its id. Says what to do when it is none or several.
 */
export async function sshUsernameIdOf(api: Api, text: string): Promise<string> {
  if (isUuid(text)) return text;
  const slash = text.lastIndexOf('/');
  const username = text.slice(slash + 1);
  const node = slash === -1 ? null : await nodeIdOf(api, text.slice(0, slash));
  const found = USERNAME.test(username) ? await usernamesOf(api, username, node) : { rows: [], total: 0 };
  const [first, second] = found.rows;
  if (first === undefined && slash === -1 && canBeginId(text)) return idOf(api, 'sshuser', text);
  if (first === undefined)
    throw new Problem(
      `there is no SSH username "${text}": edge sshuser ls shows all, and one is named by id, NODE/USERNAME, or its name`,
      EXIT.notFound,
    );
  if (second === undefined) return first.id;
  const places = found.rows
    .slice(0, NODES_NAMED_MAX)
    .map((row) => `${shortId(row.node_id)}/${username}`)
    .join(', ');
  throw new Problem(
    `${found.total} nodes have the SSH username "${username}": say which as NODE/USERNAME, such as ${places}`,
    EXIT.usage,
  );
}

async function usernamesOf(
  api: Api,
  username: string,
  node: string | null,
): Promise<{ readonly rows: readonly SshUsername[]; readonly total: number }> {
  const { data, pagination } = await api.list_ssh_usernames.query({
    username,
    ...(node !== null && { node_id__in: node }),
  });
  return { rows: data, total: pagination.total_count };
}

/** A public key with its name, as it is sent. */
export interface GivenKey {
  readonly key_name: string;
  readonly public_key: string;
}

/** A file of keys larger than this, in bytes, is none. */
const KEY_FILE_BYTES_MAX = 65_536;

/**
 * A key as it was given: the line itself, or `@` and the file that holds it. Its name is its comment, or that of the
 * file. Never lets a private key out of the machine.
 */
export function givenKey(given: string, name?: string): GivenKey {
  const file = given.startsWith('@') ? pathOf(given.slice(1)) : null;
  const line = (file === null ? given : textOf(file)).trim();
  if (/PRIVATE KEY-----|^PuTTY-User-Key-File-/mu.test(line)) {
    throw new Problem(
      `${file ?? 'that'} is a private key, which must never leave your machine: give ${file === null ? 'the line in the .pub file beside it' : `@${file}.pub`}`,
      EXIT.usage,
    );
  }
  const comment = /^\S+\s+\S+\s+(?<comment>[^\r\n]*)/u.exec(line)?.groups?.['comment']?.trim();
  return { key_name: name ?? ((comment ?? '') || (file === null ? 'key' : basename(file, '.pub'))), public_key: line };
}

/** `~` of a file behind `@` is not the shell's to know. */
function pathOf(path: string): string {
  return path === '~' || path.startsWith('~/') ? join(homedir(), path.slice(2)) : path;
}

function textOf(file: string): string {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new Problem(
      code === 'ENOENT'
        ? `there is no key ${file}: ssh-keygen -t ed25519 makes one`
        : `the key ${file} cannot be read (${code})`,
      EXIT.usage,
    );
  }
  if (text.trim() === '') throw new Problem(`the key ${file} is empty`, EXIT.usage);
  if (text.length > KEY_FILE_BYTES_MAX) throw new Problem(`${file} is too long for a public key`, EXIT.usage);
  return text;
}
