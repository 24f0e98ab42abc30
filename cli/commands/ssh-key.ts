/** `edge sshkey`. */
import type { Command as Program } from 'commander';
import type { Api, Outputs } from '../client.ts';
import { existing, idOf } from '../id-names.ts';
import { addListCommand } from '../lists.ts';
import type { Table } from '../table/columns.ts';
import { firstRows } from '../pages.ts';
import { EXIT, Problem } from '../problem.ts';
import { sessionOf } from '../session.ts';
import { givenKey, sshUsernameIdOf } from '../ssh-names.ts';

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

/** Usernames that one key is taken away from at once; more take another call. */
const REMOVED_AT_ONCE_MAX = 10_000;

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
        for (const id of text.startsWith('SHA256:')
          ? await idsOf(api, text, flags.everywhere === true)
          : [await idOf(api, 'sshkey', text)])
          await existing('sshkey', text, api.delete_ssh_public_key.mutate({ id }));
    });
}

async function idsOf(api: Api, fingerprint: string, everywhere: boolean): Promise<readonly string[]> {
  if (fingerprint.includes('*')) throw new Problem(`"${fingerprint}" is no fingerprint`, EXIT.usage);
  const { rows, totalCount } = await firstRows<SshPublicKey>(REMOVED_AT_ONCE_MAX, (page) =>
    api.list_ssh_public_keys.query({ fingerprint, ...page }),
  );
  if (totalCount === 0) throw new Problem(`there is no key ${fingerprint}: edge sshkey ls shows all`, EXIT.notFound);
  if (totalCount > 1 && !everywhere)
    throw new Problem(
      `${totalCount} SSH usernames have the key ${fingerprint}: give its id, or --everywhere`,
      EXIT.usage,
    );
  return rows.map(({ id }) => id);
}
