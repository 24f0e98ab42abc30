/** `edge health`. */
import type { Command as Program } from 'commander';
import { healthText } from '../output/health-text.ts';
import { write } from '../output/output.ts';
import { EXIT } from '../problem.ts';
import { sessionOf } from '../service/session.ts';
import { isForPeople } from '../table/format.ts';

/** Whether the admin that answers is well. Exit status 1 when it is not. */
export function addHealthCommand(program: Program): void {
  program
    .command('health')
    .description('check the subsystems of the admin')
    .action(async (_flags: object, command: Program) => {
      const { api, record, format, view } = sessionOf(command);
      const health = await api.check_admin_health.query({});
      await (isForPeople(format) ? write(healthText(health.checks, view())) : record(health));
      process.exitCode = health.healthy ? EXIT.ok : EXIT.failed;
    });
}
