#!/usr/bin/env node
/** `edge-updater`: keeps the agent of this machine, and itself, at the version that its channel names. */
import { isatty } from 'node:tty';
import manifest from '../package.json' with { type: 'json' };
import type { UpdaterParts } from '../agent/updater/parts.ts';
import type { UpdaterConfig } from '../agent/updater/settings.ts';
import type { Outcome } from '../agent/updater/state.ts';
import { contain } from './containment.ts';
import { plainText } from './output/plain-text.ts';

/** Each with what it takes, and what it does. */
const COMMANDS = {
  serve: ['', 'answer the agent on UPDATER_LISTEN, and repair it when it is dead, until stopped by SIGTERM'],
  bootstrap: [
    '[--root FILE]',
    'for installers: trust this root.json, fetch and lay out the first version; starts nothing',
  ],
  update: [
    '[--force] [--dry-run]',
    'update now; --force: also to a version that was taken back; --dry-run: only say what would be done',
  ],
  rollback: ['', 'go back to the version before; this one is not taken again by itself'],
  pin: ['VERSION', 'stay at this version: the next update installs it, and none after it'],
  unpin: ['', 'follow the channel again'],
  status: ['[--json]', 'say which version runs, what is under way, and what came of the last update'],
  check: ['', 'check settings, state and trusted root of this machine, and say what is wrong with them'],
} as const;
type Command = keyof typeof COMMANDS;

/** Exit statuses. 2 as usual for usage errors and settings. */
const STATUS = { ok: 0, failed: 1, usage: 2 } as const;

// not awaited here: the published updater is one CommonJS file, where that is not possible
void main(process.argv.slice(2));

async function main([command = '--help', ...rest]: readonly string[]): Promise<void> {
  if (command === '--version' || command === '-V') process.stdout.write(`${manifest.version}\n`);
  else if (['--help', '-h', 'help'].includes(command)) process.stdout.write(await help());
  else if (!isCommand(command)) await refuse(await noCommand(command));
  else if (rest.some((word) => word === '--help' || word === '-h')) process.stdout.write(await commandHelp(command));
  else {
    const problem = await wordsProblem(command, rest);
    if (problem === null) await run(command, rest);
    else await refuse(problem);
  }
}

async function run(command: Command, words: readonly string[]): Promise<void> {
  process.umask(0o022); // what is installed is read by the agent, which may be another user
  const { config, problems } = await settings();
  if (config === null) {
    for (const problem of problems) process.stderr.write(`edge-updater: ${plainText(problem)}\n`);
    process.exit(STATUS.usage);
  }
  const [{ createBugTeller, createLog }, { openUpdater }, { UpdateProblem }] = await Promise.all([
    import('../agent/log.ts'),
    import('../agent/updater/open.ts'),
    import('../agent/updater/problem.ts'),
  ]);
  const log = createLog(config.LOG_LEVEL, isatty(2), undefined, 'edge-updater');
  const tellBug = createBugTeller(log, config.LOG_LEVEL);
  contain({ log, bugStatus: STATUS.failed, tellBug });
  for (const line of await misspelt()) log.warn({}, line);
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => stop.abort());
  try {
    process.exitCode = await perform(command, words, openUpdater(config, log, stop.signal));
  } catch (error) {
    if (!(error instanceof UpdateProblem)) {
      const { systemProblem } = await import('../agent/problem.ts');
      log.debug({}, (error as Error).stack ?? '');
      process.stderr.write(`edge-updater: ${plainText(`${command} failed: ${systemProblem(error)}`)}\n`);
    } else if (!stop.signal.aborted) process.stderr.write(`edge-updater: ${plainText(error.message)}\n`);
    process.exitCode = STATUS.failed;
  }
  process.exit(); // a mirror that answers no more holds nobody
}

async function perform(command: Command, words: readonly string[], parts: UpdaterParts): Promise<number> {
  const commands = await import('../agent/updater/commands.ts');
  const serving = await import('../agent/updater/serve.ts');
  switch (command) {
    case 'serve':
      await serving.serveUpdater(parts, process.argv[1] ?? '');
      return STATUS.ok;
    case 'bootstrap':
      process.stdout.write(`${await commands.bootstrap(parts, words[1] ?? null)}\n`);
      return STATUS.ok;
    case 'update':
      if (!words.includes('--dry-run'))
        return told(commands.outcomeText, await commands.updateNow(parts, words.includes('--force')));
      process.stdout.write(`${JSON.stringify(await serving.wouldBe(parts), null, 2)}\n`);
      return STATUS.ok;
    case 'rollback':
      return told(commands.outcomeText, await commands.rollBack(parts));
    case 'pin':
    case 'unpin':
      commands.pin(parts, words[0] ?? null);
      return STATUS.ok;
    case 'status':
      process.stdout.write(words.includes('--json') ? commands.statusJson(parts) : commands.statusText(parts));
      return STATUS.ok;
    case 'check':
      process.stdout.write(`${commands.selfCheckText(parts, manifest.version)}\n`);
      return STATUS.ok;
    default:
      return command satisfies never;
  }
}

function told(text: (outcome: Outcome) => string, outcome: Outcome | null): number {
  if (outcome?.error === null) {
    process.stdout.write(`${text(outcome)}\n`);
    return STATUS.ok;
  }
  const told = outcome === null ? 'stopped before the end: the next start goes on' : text(outcome);
  process.stderr.write(`edge-updater: ${plainText(told)}\n`);
  return STATUS.failed;
}

async function settings(): Promise<{ readonly config: UpdaterConfig | null; readonly problems: readonly string[] }> {
  const { UPDATER_SETTINGS, updaterProblems } = await import('../agent/updater/settings.ts');
  const { readSettings } = await import('../settings/environment.ts');
  const { withProxyVariables } = await import('../agent/outbound/proxy-choice.ts');
  const read = readSettings(UPDATER_SETTINGS, withProxyVariables(process.env));
  if (!read.ok) return { config: null, problems: read.problems };
  const problems = updaterProblems(read.settings);
  return { config: problems.length === 0 ? read.settings : null, problems };
}

/** What is wrong with the words after a command; null: nothing. */
async function wordsProblem(command: Command, words: readonly string[]): Promise<string | null> {
  const allowed: Readonly<Partial<Record<Command, readonly string[]>>> = {
    update: ['--force', '--dry-run'],
    status: ['--json'],
  };
  if (command === 'bootstrap')
    return words.length === 0 || (words.length === 2 && words[0] === '--root')
      ? null
      : `bootstrap takes --root FILE, and nothing else`;
  if (command === 'pin') {
    const { isVersion } = await import('../agent/updater/settings.ts');
    return words.length === 1 && isVersion(words[0] ?? '') ? null : 'pin takes a version, such as 0.2.0';
  }
  const unknown = words.find((word) => !(allowed[command] ?? []).includes(word));
  if (unknown === undefined) return null;
  const takes = allowed[command]?.join(', ') ?? 'nothing';
  return `${command} ${unknown} is not known: ${command} takes ${takes}`;
}

async function refuse(problem: string): Promise<void> {
  process.stderr.write(`edge-updater: ${plainText(problem)}\n`);
  process.exitCode = STATUS.usage;
}

async function noCommand(given: string): Promise<string> {
  const { nearestOf } = await import('../settings/nearest.ts');
  const words = [...Object.keys(COMMANDS), '--help', '--version'];
  const nearest = nearestOf(given, words);
  return nearest === null
    ? `${given} is not a command: it should be one of ${words.join(', ')}`
    : `${given} is not a command: did you mean edge-updater ${nearest}?`;
}

/** A sentence for each variable that looks like a setting and is none. */
async function misspelt(): Promise<readonly string[]> {
  const { UPDATER_SETTINGS } = await import('../agent/updater/settings.ts');
  const { settingNames } = await import('../settings/environment.ts');
  const { unknownVariables } = await import('../settings/unknown-variables.ts');
  return unknownVariables(process.env, { known: settingNames(UPDATER_SETTINGS), own: ['UPDATER_'], shared: [] });
}

async function commandHelp(command: Command): Promise<string> {
  const [words, text] = COMMANDS[command];
  return `Usage: edge-updater ${[command, words].filter((word) => word !== '').join(' ')}

  ${text}

Settings are environment variables: edge-updater --help
`;
}

async function help(): Promise<string> {
  const { UPDATER_SETTINGS } = await import('../agent/updater/settings.ts');
  const { settingsHelp } = await import('../settings/environment.ts');
  const rows = Object.entries(COMMANDS).map(([name, [words, text]]) => [`${name} ${words}`.trim(), text] as const);
  const width = Math.max(...rows.map(([words]) => words.length));
  return `edge-updater ${manifest.version}: keeps the agent of this machine, and itself, at the version that its channel names.

Usage:
${rows.map(([words, text]) => `  edge-updater ${words.padEnd(width)}  ${text}\n`).join('')}  edge-updater --version
  edge-updater --help

Exit status: 0 done, 1 failed or taken back, 2 wrong words or settings.

Settings (environment variables):
${settingsHelp(UPDATER_SETTINGS)}`;
}

function isCommand(word: string): word is Command {
  return Object.hasOwn(COMMANDS, word);
}
