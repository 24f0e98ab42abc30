/**
 * What people type wrongly, and the line that they get: every command of wrong-inputs.txt is run as it stands there,
 * and says what stands below it. `EDGE_TEST_KEEP_WRONG_INPUTS=yes` writes the file anew, to be read before it is kept.
 */
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { FLEET_KEYS } from '../../support/fleet.ts';
import { FREE_PORTS } from '../../support/fleet/agent-program.ts';
import { compileCache, programFile, type ProgramName } from '../../support/run/programs.ts';
import { createScope } from '../../support/scope.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { scaled } from '../../support/busy.ts';

const FILE = new URL('wrong-inputs.txt', import.meta.url);

/** Variable with which the file is written anew. */
const KEEP_VARIABLE = 'EDGE_TEST_KEEP_WRONG_INPUTS';

/** Fewer would leave most commands without one. */
const COMMANDS_MIN = 100;

/** Programs that run at the same time. */
const AT_ONCE_MAX = 3;

/** A command ends by itself, and soon. In ms. */
const COMMAND_MS_MAX = scaled(20_000);

const fleet = sharedFleet(test, { agents: 1, agentEnv: { AGENT_ALIASES: 'web-1' } });
const scope = createScope();
test.after.always('its files go', () => scope.end());

/** A command as it stands in the file, and all that it said, with its exit status last. */
interface Entry {
  readonly command: string;
  readonly said: string;
}

/** Titles and commands in their order. */
type Part = { readonly title: string } | Entry;

function partsOf(text: string): readonly Part[] {
  return text
    .split(/^(?=[#$] )/mu)
    .filter((part) => part.trim() !== '')
    .map((part) => {
      const [first = '', ...rest] = part.trim().split('\n');
      return first.startsWith('# ') ? { title: first } : { command: first.slice(2), said: rest.join('\n') };
    });
}

function textOf(parts: readonly Part[]): string {
  return `${parts.map((part) => ('title' in part ? part.title : `$ ${part.command}\n${part.said}`)).join('\n\n')}\n`;
}

/** A directory with the programs by their names, and the files that commands name. */
function prepare(): { readonly directory: string; readonly path: string } {
  const directory = temporaryDirectory(scope);
  const programs = join(directory, '.programs');
  mkdirSync(programs);
  for (const name of ['edge', 'edge-admin', 'edge-agent', 'edge-updater'] as const satisfies readonly ProgramName[]) {
    writeFileSync(join(programs, name), `#!/bin/sh\nexec '${process.execPath}' '${programFile(name)}' "$@"\n`);
    chmodSync(join(programs, name), 0o755);
  }
  writeFileSync(join(directory, 'empty'), '');
  writeFileSync(join(directory, 'large'), 'x'.repeat(200_000));
  writeFileSync(join(directory, 'nearly'), 'x'.repeat(100_000));
  writeFileSync(join(directory, 'script.sh'), 'true\n');
  mkdirSync(join(directory, 'other'));
  writeFileSync(join(directory, 'other', 'script.sh'), 'false\n');
  mkdirSync(join(directory, 'weak'));
  writeFileSync(join(directory, 'weak', 'master.key'), 'changeme\n');
  mkdirSync(join(directory, 'damaged', 'edge'), { recursive: true });
  writeFileSync(join(directory, 'damaged', 'edge', 'config.json'), '{');
  return { directory, path: `${programs}:${process.env['PATH'] ?? ''}` };
}

/** Runs a command in a shell, without a terminal, and tells what it said with what differs between runs taken out. */
function run(command: string, { directory, path }: ReturnType<typeof prepare>, url: string): Promise<string> {
  const updater = mkdtempSync(join(directory, 'updater-')); // its commands wait for no other one
  return new Promise((resolve) => {
    execFile(
      'bash',
      ['-c', `{ ${command}${command.includes('<') ? '' : ' < /dev/null'}; } 2>&1`],
      {
        cwd: directory,
        timeout: COMMAND_MS_MAX,
        env: {
          PATH: path,
          HOME: directory,
          XDG_CONFIG_HOME: join(directory, 'config'),
          EDGE_URL: url,
          EDGE_API_KEY: FLEET_KEYS.API_KEY,
          METRICS_KEY: command.startsWith('EDGE_API_KEY=$METRICS_KEY') ? FLEET_KEYS.METRICS_KEY : '',
          DATA_DIR: join(directory, 'data'),
          AGENT_DATA_DIR: join(directory, 'agent'),
          UPDATER_DIR: updater,
          UPDATER_AGENT_DATA_DIR: join(directory, 'agent'),
          ...FREE_PORTS, // the usual ones may be another's, which an agent says
          ...compileCache([programFile('edge')]),
        },
      },
      (error, stdout) => {
        const said = stdout
          .replaceAll(url, 'http://admin:44000')
          .replaceAll(updater, '/home/ada/updater')
          .replaceAll(directory, '/home/ada')
          .replaceAll(/"time":(?:\d+|"[^"]*")/gu, '"time":0')
          .replaceAll(/"pid":\d+|"hostname":"[^"]*"/gu, (field) => `${field.split(':')[0] ?? ''}:0`);
        resolve(`${said}exit ${error === null ? 0 : String(error.code ?? 'none')}`);
      },
    );
  });
}

test('every wrong input gets the line that stands below it in the table, and an exit status that is not 0', async (t) => {
  t.timeout(scaled(600_000));
  const parts = partsOf(readFileSync(FILE, 'utf8'));
  const commands = parts.filter((part) => 'command' in part);
  const place = prepare();
  const url = fleet().admins[0]?.url ?? '';
  const said = new Map<string, string>();
  const waiting = [...commands];
  const work = async (): Promise<void> => {
    for (let entry = waiting.shift(); entry !== undefined; entry = waiting.shift())
      said.set(entry.command, await run(entry.command, place, url));
  };
  await Promise.all(Array.from({ length: AT_ONCE_MAX }, work));

  const now = parts.map((part) =>
    'title' in part ? part : { command: part.command, said: said.get(part.command) ?? '' },
  );
  if (process.env[KEEP_VARIABLE] === 'yes') writeFileSync(FILE, textOf(now));

  t.true(commands.length >= COMMANDS_MIN);
  for (const entry of commands) t.is(said.get(entry.command), entry.said, entry.command);
  for (const [command, text] of said) {
    const lines = text.split('\n').slice(0, -1);
    t.is(lines.length, 1, `${command}\n${text}`);
    t.regex(text, /^edge(?:-admin|-agent|-updater)?: [^\n]+\nexit [1-9]/u, command);
    t.notRegex(text, /\bat \S+\.[cm]?[jt]s|__in|\.0 |TRPCClientError|undefined|\[object/u, command);
  }
});
