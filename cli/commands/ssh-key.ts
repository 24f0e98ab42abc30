/** `edge sshkey`. */
import type { Command as Program } from 'commander';
import type { Api, Outputs } from '../service/client.ts';
import { existing, idOf } from '../names/id-names.ts';
import { addListCommand } from '../lists.ts';
import type { Table } from '../table/columns.ts';
import { firstRows } from '../service/pages.ts';
import { EXIT, isNotFound, Problem } from '../problem.ts';
import { sessionOf } from '../service/session.ts';
import { givenKey, sshUsernameIdOf } from '../names/ssh-names.ts';

type SshPublicKey = Outputs['list_ssh_public_keys']['data'][number];

const TABLE: Table<SshPublicKey> = {
  id: ({ id }) => id,
  sortedBy: 'name',
  columns: [
    ['NAME', 'key_name', { cut: 12, sorts: 'key_name' }],
    ['TYPE', ({ public_key: key }) => key.split(' ')[0], { drop: 3 }],
    ['CREATED', 'inserted_at', { age: true, drop: 2, sorts: 'inserted_at' }],
    ['FINGERPRINT', 'fingerprint', { cut: 16, drop: 1 }],
    ['USERNAME', 'ssh_username_id', { id: true }],
    ['ID', 'id', { id: true }],
  ],
};

/** Keys that are read at a time to be removed. Equals the largest page. */
const REMOVED_AT_ONCE = 100;

const HELP = `
Examples:
  edge sshkey add web-1/ada @~/.ssh/id_ed25519.pub
  edge sshkey rm SHA256:uNiVztksCsDhcc0u9e8BgrJXVGDOo4t8KZbmuJGGgCk --everywhere    a laptop was lost`;

/** SSH public keys: with what people log in to nodes. */
export function addSshKeyCommands(program: Program): void {
  const key = program.command('sshkey').description('public keys of SSH usernames').addHelpText('after', HELP);

  key
    .command('add <username> <key>')
    .description(
      'add a key, its line or @ and its file, to an SSH username: an id, NODE/USERNAME, or a name that one node has',
    )
    .option('--name <name>', 'what to call it (default: its comment, or the name of its file)')
    .action(async (username: string, given: string, flags: { readonly name?: string }, command: Program) => {
      const { api, record } = sessionOf(command);
      const sent = givenKey(given, flags.name);
      const id = await sshUsernameIdOf(api, username);
      await record(await existing('sshuser', username, api.create_ssh_public_key.mutate({ id, ...sent })));
    });

  addListCommand(key, {
    words: 'ls [username]',
    description: 'list keys, of all SSH usernames or of one',
    table: TABLE,
    read: async ({ api }, _flags, [username]) => {
      const id = username === undefined ? null : await sshUsernameIdOf(api, username);
      return (page) => api.list_ssh_public_keys.query({ ...page, ...(id !== null && { ssh_username_id__in: id }) });
    },
  });

  key
    .command('get <id>')
    .alias('show')
    .description('show a key')
    .action(async (given: string, _flags: object, command: Program) => {
      const { api, record } = sessionOf(command);
      const id = await idOf(api, 'sshkey', given);
      await record(await existing('sshkey', given, api.get_ssh_public_key.query({ id })));
    });

  key
    .command('rm <keys...>')
    .description('remove keys by id or fingerprint: sessions that they opened end at once')
    .option('--everywhere', 'a fingerprint from every SSH username that has it')
    .action(async (keys: readonly string[], flags: { readonly everywhere?: boolean }, command: Program) => {
      const { api } = sessionOf(command);
      for (const text of keys)
        if (flags.everywhere === true && isFingerprint(text)) await removeEverywhere(api, text);
        else {
          const id = isFingerprint(text) ? await onlyIdOf(api, text) : await idOf(api, 'sshkey', text);
          await existing('sshkey', text, api.delete_ssh_public_key.mutate({ id }));
        }
    });
}

/** Takes a key from all who have it, and from those who get it meanwhile. What another took away first is gone, too. */
async function removeEverywhere(api: Api, fingerprint: string): Promise<void> {
  const tried = new Set<string>();
  for (;;) {
    const ids = (await keysOf(api, fingerprint)).rows.map(({ id }) => id).filter((id) => !tried.has(id));
    if (ids.length === 0 && tried.size === 0) throw noKey(fingerprint);
    if (ids.length === 0) return;
    for (const id of ids) {
      tried.add(id);
      await api.delete_ssh_public_key.mutate({ id }).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
    }
  }
}

async function onlyIdOf(api: Api, fingerprint: string): Promise<string> {
  const { rows, totalCount } = await keysOf(api, fingerprint);
  if (totalCount > 1)
    throw new Problem(
      `${totalCount} SSH usernames have the key ${fingerprint}: give its id, or --everywhere`,
      EXIT.usage,
    );
  const [only] = rows;
  if (only === undefined) throw noKey(fingerprint);
  return only.id;
}

/** The first of them. */
async function keysOf(api: Api, fingerprint: string): ReturnType<typeof firstRows<SshPublicKey>> {
  if (fingerprint.includes('*')) throw new Problem(`"${fingerprint}" is no fingerprint`, EXIT.usage);
  return firstRows(REMOVED_AT_ONCE, (page) => api.list_ssh_public_keys.query({ fingerprint, ...page }));
}

function isFingerprint(text: string): boolean {
  return text.startsWith('SHA256:');
}

function noKey(fingerprint: string): Problem {
  return new Problem(`there is no key ${fingerprint}: edge sshkey ls shows all`, EXIT.notFound);
}
