/** `edge sshuser`. */
import type { Command as Program } from 'commander';
import { limitOption, several } from '../arguments.ts';
import type { Outputs } from '../client.ts';
import { nodeIdOf } from '../node-names.ts';
import { tell } from '../output.ts';
import type { Columns } from '../table.ts';
import { addPasswordOptions, givenPassword, type PasswordFlags } from '../password-input.ts';
import { sessionOf } from '../session.ts';
import { givenKey, sshUsernameIdOf } from '../ssh-names.ts';

const COLUMNS: Columns<Outputs['list_ssh_usernames']['data'][number]> = [
  ['USERNAME', 'username'],
  ['NODE', 'node_id'],
  ['PASSWORD', ({ has_password: has }) => (has ? 'yes' : 'no')],
  ['CREATED', 'inserted_at'],
  ['ID', 'id'],
];

interface AddFlags extends PasswordFlags {
  readonly publicKey?: readonly string[];
}

interface ListFlags {
  readonly limit: number;
  readonly node?: string;
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
      const { api, record } = sessionOf(command);
      const keys = (flags.publicKey ?? []).map((key) => givenKey(key));
      const password = await givenPassword(flags);
      await record(
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

  user
    .command('ls')
    .description('list SSH usernames')
    .addOption(limitOption())
    .option('-n, --node <node>', 'those of one node')
    .action(async (flags: ListFlags, command: Program) => {
      const { api, list } = sessionOf(command);
      const node = flags.node === undefined ? null : await nodeIdOf(api, flags.node);
      await list(COLUMNS, flags.limit, (page) =>
        api.list_ssh_usernames.query({ ...page, ...(node !== null && { node_id__in: node }) }),
      );
    });

  user
    .command('get <username>')
    .description('show one with its keys: by id, NODE/USERNAME, or its name')
    .action(async (username: string, _flags: object, command: Program) => {
      const { api, record } = sessionOf(command);
      await record(await api.get_ssh_username.query({ id: await sshUsernameIdOf(api, username) }));
    });

  user
    .command('rm <usernames...>')
    .description('remove some with their keys: their sessions end at once')
    .action(async (usernames: readonly string[], _flags: object, command: Program) => {
      const { api } = sessionOf(command);
      for (const username of usernames)
        await api.delete_ssh_username.mutate({ id: await sshUsernameIdOf(api, username) });
    });
}
