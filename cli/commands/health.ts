/** `edge health`. */
import type { Command as Program } from 'commander';
import { write } from '../output.ts';
import { rowsText } from '../table.ts';
import { EXIT } from '../problem.ts';
import { sessionOf } from '../session.ts';

/** Whether the admin that answers is well. Exit status 1 when it is not. */
export function addHealthCommand(program: Program): void {
  program
    .command('health')
    .description('check the subsystems of the admin')
    .action(async (_flags: object, command: Program) => {
      const { api, record, format } = sessionOf(command);
      const health = await api.check_admin_health.query({});
      await (format === 'table'
        ? write(
            rowsText(
              health.checks,
              [
                ['CHECK', ({ name }) => name],
                ['STATE', ({ healthy }) => (healthy ? 'pass' : 'fail')],
                ['MS', ({ duration_ms: ms }) => ms],
                ['ERROR', ({ error }) => error],
              ],
              'table',
            ),
          )
        : record(health));
      process.exitCode = health.healthy ? EXIT.ok : EXIT.failed;
    });
}
