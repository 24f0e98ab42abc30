/** `edge console-session`. */
import type { Command as Program } from 'commander';
import type { Outputs } from '../service/client.ts';
import { existing, idOf } from '../names/id-names.ts';
import { addListCommand } from '../lists.ts';
import { sessionOf } from '../service/session.ts';
import type { Table } from '../table/columns.ts';

const TABLE: Table<Outputs['list_console_sessions']['data'][number]> = {
  id: ({ id }) => id,
  columns: [
    ['ID', 'id', { id: true }],
    ['KEY', 'principal'],
    ['SIGNED IN', 'inserted_at', { age: true, sorts: 'inserted_at' }],
    ['USED', 'last_used_at', { age: true, sorts: 'last_used_at' }],
    ['FROM', 'address', { drop: 2 }],
    ['BROWSER', 'user_agent', { cut: 16, drop: 1 }],
  ],
};

const HELP = `
Examples:
  edge console-session ls
  edge console-session rm 0193a1c2          its pages are cut within a second, at every admin
  edge console-session rm $(edge console-session ls -q)

KEY is what a session reaches: that of MASTER_KEY or API_KEY. A session ends by itself when nobody used it for half an
hour, 12 hours after the sign-in, and with its key.`;

/** Sessions of the console: list, end. */
export function addConsoleSessionCommands(program: Program): void {
  const sessions = program
    .command('console-session')
    .description('who is signed in to the console in a browser')
    .addHelpText('after', HELP);

  addListCommand(sessions, {
    description: 'list sessions, newest first',
    table: TABLE,
    read:
      async ({ api }) =>
      (page) =>
        api.list_console_sessions.query(page),
  });

  sessions
    .command('rm <ids...>')
    .alias('remove')
    .description('end sessions')
    .action(async (given: readonly string[], _flags: object, command: Program) => {
      const { api } = sessionOf(command);
      for (const one of given) {
        const id = await idOf(api, 'console', one);
        await existing('console', one, api.delete_console_session.mutate({ id }));
      }
    });
}
