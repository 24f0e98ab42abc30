/** `edge sshuser`. */
import type { Command as Program } from 'commander';
import { several, words } from '../arguments.ts';
import type { Outputs } from '../service/client.ts';
import { existing } from '../names/id-names.ts';
import { nodeIdOf, nodeIdsOf } from '../names/node-names.ts';
import { tell, write } from '../output/output.ts';
import { addListCommand, type ListFlags } from '../lists.ts';
import type { Table } from '../table/columns.ts';
import { addPasswordOptions, givenPassword, type PasswordFlags } from '../password-input.ts';
import { sessionOf, type Session } from '../service/session.ts';
import { givenKey, sshUsernameIdOf } from '../names/ssh-names.ts';
import { isForPeople } from '../table/format.ts';
import { recordText, rowsText } from '../table/text.ts';

type SshUsername = Outputs['list_ssh_usernames']['data'][number];

const TABLE: Table<SshUsername> = {
  id: ({ id }) => id,
  sortedBy: 'username',
  columns: [
    ['USERNAME', 'username', { cut: 12, sorts: 'username' }],
    ['NODE', 'node_id', { node: true, cut: 12 }],
    ['PASSWORD', ({ has_password: has }) => (has ? 'yes' : 'no'), { drop: 1 }],
    ['CREATED', 'inserted_at', { age: true, drop: 3, sorts: 'inserted_at' }],
    ['ID', 'id', { id: true, drop: 2 }],
  ],
};

/** Keys below the SSH username that they open, by what `edge sshkey rm` takes. */
const KEYS: Table<NonNullable<Outputs['get_ssh_username']['public_keys']>[number]> = {
  id: ({ id }) => id,
  columns: [
    ['KEY', 'key_name', { cut: 12 }],
    ['TYPE', ({ public_key: key }) => key.split(' ')[0], { drop: 1 }],
    ['FINGERPRINT', 'fingerprint'],
    ['ID', 'id', { wide: true, id: true }],
  ],
};

interface AddFlags extends PasswordFlags {
  readonly publicKey?: readonly string[];
}

interface Filters {
  readonly user?: string;
  readonly node?: readonly string[];
  readonly cluster?: readonly string[];
  readonly keyName?: string;
  readonly password?: boolean;
}

const HELP = `
Examples:
  edge sshuser add web-1 ada -k @~/.ssh/id_ed25519.pub
  edge sshuser add web-1 ada --password            asks for it
  edge sshuser rm web-1/ada                        ends her sessions there, too`;

/** SSH usernames: who may log in to a node. */
export function addSshUsernameCommands(program: Program): void {
  const user = program.command('sshuser').description('who may log in to a node by SSH').addHelpText('after', HELP);

  addPasswordOptions(
    user.command('add <node> <username>').description('let somebody in, with keys, a password, or both'),
  )
    .option(
      '-k, --public-key <key>',
      'a public key: its line, or @ and the file that holds it; may be given several times',
      several,
    )
    .action(async (node: string, username: string, flags: AddFlags, command: Program) => {
      const session = sessionOf(command);
      const { api } = session;
      const keys = (flags.publicKey ?? []).map((key) => givenKey(key));
      const password = await givenPassword(flags);
      await tellUsername(
        session,
        await api.create_ssh_username.mutate({
          node_id: await nodeIdOf(api, node),
          username,
          ...(password !== null && { password }),
          ...(keys.length > 0 && { public_keys: keys }),
        }),
      );
      if (password === null && keys.length === 0)
        tell(`nothing opens ${username} yet: edge sshkey add ${node}/${username} @~/.ssh/id_ed25519.pub`);
    });

  addUsernameList(user);

  user
    .command('get <username>')
    .alias('show')
    .description('show one with its keys: by id, NODE/USERNAME, or its name')
    .action(async (username: string, _flags: object, command: Program) => {
      const session = sessionOf(command);
      const { api } = session;
      const id = await sshUsernameIdOf(api, username);
      await tellUsername(session, await existing('sshuser', username, api.get_ssh_username.query({ id })));
    });

  user
    .command('rm <usernames...>')
    .description('remove some with their keys: their sessions end at once')
    .action(async (usernames: readonly string[], _flags: object, command: Program) => {
      const { api } = sessionOf(command);
      for (const username of usernames) {
        const id = await sshUsernameIdOf(api, username);
        await existing('sshuser', username, api.delete_ssh_username.mutate({ id }));
      }
    });
}

function addUsernameList(user: Program): void {
  addListCommand<SshUsername, Filters & ListFlags>(user, {
    description: 'list SSH usernames',
    table: TABLE,
    read: async ({ api }, { user: username, node, cluster, keyName, password }) => {
      const filters = {
        ...(username !== undefined && { username }),
        ...(node && { node_id__in: await nodeIdsOf(api, node) }),
        ...(cluster && { cluster_name__in: cluster }),
        ...(keyName !== undefined && { key_name: keyName }),
        ...(password !== undefined && { has_password: password }),
      };
      return (page) => api.list_ssh_usernames.query({ ...filters, ...page });
    },
  })
    .option('-u, --user <pattern>', 'only of this name (with * as wildcard)')
    .option('-n, --node <nodes>', 'only of these nodes', words)
    .option('-c, --cluster <names>', 'only of these clusters (with * as wildcard)', words)
    .option('--key-name <pattern>', 'only those that a key of this name opens (with * as wildcard)')
    .option('--password', 'only those with a password')
    .option('--no-password', 'only those without one');
}

/** One of them, with its keys below it. */
async function tellUsername({ record, format, view }: Session, user: Outputs['get_ssh_username']): Promise<void> {
  if (!isForPeople(format)) return record(user);
  const { public_keys: keys, ...fields } = user;
  await write(recordText(fields, format));
  if (keys !== null && keys.length > 0) await write(`\n${rowsText(keys, KEYS, view())}`);
  return undefined;
}
