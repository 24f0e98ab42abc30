#!/usr/bin/env node
/** `edge-agent`: the resident program of a managed machine. */
import { join } from 'node:path';
import { isatty } from 'node:tty';
import manifest from '../package.json' with { type: 'json' };
import type { GivenConfig } from '../agent/config.ts';
import { CODE_CACHE_DIRECTORY, defaultDataDirectory } from '../agent/default-directory.ts';
import { WarmStart } from '../agent/warm-start.ts';
import { contain } from './containment.ts';
import { plainText } from './output/plain-text.ts';

const COMMANDS = ['up', 'leave', 'doctor', 'check', 'metrics-key', 'rotate-key'] as const;

/** Those with all that they may be given. */
const OPTIONED = ['leave --local', 'doctor --json'] as const;

// not awaited here: the published agent is one CommonJS file, where that is not possible
void main(process.argv.slice(2));

async function main([command = '--help', ...rest]: readonly string[]): Promise<void> {
  if (command === '--version' || command === '-V') process.stdout.write(`${manifest.version}\n`);
  else if (command === '--help' || command === '-h' || command === 'help') process.stdout.write(await help());
  else if (command === 'doctor' && rest.every((word) => word === '--json')) await doctor(rest.includes('--json'));
  else if (command === 'leave' && rest.every((word) => word === '--local'))
    await run(command, rest.includes('--local'));
  else if (command === 'check' && rest.length === 0) await check();
  else if (isCommand(command) && rest.length === 0) await run(command);
  else if (isCommand(command) && rest.every((word) => word === '--help' || word === '-h'))
    process.stdout.write(await help());
  else {
    process.stderr.write(`edge-agent: ${plainText(await noCommand([command, ...rest].join(' ')))}\n`);
    process.exitCode = 2;
  }
}

/** What was meant by words that are no command, or what there is. */
async function noCommand(given: string): Promise<string> {
  const { nearestOf } = await import('../settings/nearest.ts');
  const nearest = nearestOf(given, [...COMMANDS, ...OPTIONED, '--help', '--version']);
  return nearest === null
    ? `${given} is not a command: it should be one of ${COMMANDS.join(', ')}, --help, --version`
    : `${given} is not a command: did you mean edge-agent ${nearest}?`;
}

/** Not by way of `run`: it works where the agent itself would not start, and leaves nothing on the disk. */
async function doctor(isJson: boolean): Promise<void> {
  const settings = await settingsOrExit();
  const { diagnoseMachine } = await import('../agent/observability/doctor/command.ts');
  const { showsColours } = await import('./output/colours.ts');
  const { reportText } = await import('./doctor/report-text.ts');
  const { AgentProblem } = await import('../agent/problem.ts');
  try {
    for (const line of await misspelt()) process.stderr.write(`edge-agent: ${line}\n`);
    const report = await diagnoseMachine(settings, manifest.version);
    process.exitCode = report.overall === 'fail' ? 1 : 0;
    // Not before the last byte is taken; what a check left hanging is not waited for.
    process.stdout.write(
      isJson
        ? `${JSON.stringify(report, null, 2)}\n`
        : reportText(report, {
            isColoured: showsColours(process.stdout, process.env),
            width: process.stdout.isTTY ? process.stdout.columns : null,
          }),
      () => process.exit(),
    );
  } catch (error) {
    if (!(error instanceof AgentProblem)) throw error;
    process.stderr.write(`edge-agent: ${plainText(error.message)}\n`);
    process.exit(1);
  }
}

/** What an updater asks of a new version before it switches. Like the doctor, it leaves nothing on the disk. */
async function check(): Promise<void> {
  const settings = await settingsOrExit();
  const { selfCheck } = await import('../agent/self-check.ts');
  const { AgentProblem } = await import('../agent/problem.ts');
  await import('../agent/agent.ts'); // all that `up` needs can be loaded
  try {
    process.stdout.write(`${selfCheck(settings, manifest.version)}\n`);
  } catch (error) {
    if (!(error instanceof AgentProblem)) throw error;
    process.stderr.write(`edge-agent: ${plainText(error.message)}\n`);
    process.exitCode = error.status;
  }
}

/** Ends the program with a line for each setting that does not fit. */
async function settingsOrExit(): Promise<GivenConfig> {
  const { AGENT_SETTINGS } = await import('../agent/config.ts');
  const { readSettings } = await import('../settings/environment.ts');
  const { withProxyVariables } = await import('../agent/outbound/proxy-choice.ts');
  const read = readSettings(AGENT_SETTINGS, withProxyVariables(process.env));
  if (!read.ok) {
    for (const problem of read.problems) process.stderr.write(`edge-agent: ${problem}\n`);
    process.exit(2);
  }
  return read.settings;
}

async function run(name: (typeof COMMANDS)[number], isLocal = false): Promise<void> {
  // What an agent does never runs hot enough to repay the optimizing compiler, which takes 5 MiB of memory (measured).
  process.getBuiltinModule('node:v8').setFlagsFromString('--no-opt');
  const warmStart = new WarmStart(join(process.env['AGENT_DATA_DIR'] || defaultDataDirectory(), CODE_CACHE_DIRECTORY));
  warmStart.first();
  const settings = await settingsOrExit();

  const { createBugTeller, createLog, stackOf } = await import('../agent/log.ts');
  const { runAgent } = await import('../agent/agent.ts');
  const { AgentProblem, EXIT_STATUS } = await import('../agent/problem.ts');
  await warmStart.last(() =>
    Promise.all([
      import('../agent/observability/metrics/host/exporter.ts'),
      import('../agent/observability/doctor/doctor.ts'),
      import('../agent/update/updates.ts'),
      import('../agent/vpn/vpn.ts'),
    ]),
  );
  const log = createLog(settings.LOG_LEVEL, isatty(2));
  const tellBug = createBugTeller(log, settings.LOG_LEVEL);
  contain({ log, bugStatus: EXIT_STATUS.failed, tellBug });
  for (const line of await misspelt()) log.warn({}, line);
  const stop = new AbortController();
  const diskAnswered = () => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => stop.abort());
  };
  const options = { config: settings, version: manifest.version, log, signal: stop.signal, diskAnswered };
  try {
    if (name === 'metrics-key')
      return void process.stdout.write(
        `${(await import('../agent/observability/api-key.ts')).storedApiKey(settings.AGENT_DATA_DIR)}\n`,
      );
    if (name === 'rotate-key')
      return void process.stdout.write(
        `${await (await import('../agent/vpn/rotation.ts')).rotateKey(settings.AGENT_DATA_DIR)}\n`,
      );
    process.exit(
      await (name === 'up' ? runAgent(options) : (await import('../agent/leave.ts')).leave({ ...options, isLocal })),
    );
  } catch (error) {
    if (!(error instanceof AgentProblem)) {
      log.error({}, `The agent failed: ${(error as Error).message}`);
      log.debug({ stack: stackOf(error) }, 'Where it failed');
      process.exit(1);
    }
    process.stderr.write(`edge-agent: ${plainText(error.message)}\n`);
    process.exit(error.status);
  }
}

/** A sentence for each variable that looks like a setting and is none. Those of an admin on this machine are let be. */
async function misspelt(): Promise<readonly string[]> {
  const { AGENT_SETTINGS } = await import('../agent/config.ts');
  const { settingNames } = await import('../settings/environment.ts');
  const { unknownVariables } = await import('../settings/unknown-variables.ts');
  const known = settingNames(AGENT_SETTINGS);
  return unknownVariables(process.env, { known, own: ['AGENT_'], shared: ['ENROLLMENT_', 'ADMIN_URL'] });
}

async function help(): Promise<string> {
  const { AGENT_SETTINGS } = await import('../agent/config.ts');
  const { settingsHelp } = await import('../settings/environment.ts');
  return `edge-agent ${manifest.version}: makes this machine a node of a cluster.

Usage:
  edge-agent up           enrol if needed, connect, and run commands until stopped by SIGTERM
  edge-agent leave        remove the node at the admin, and identity, journal and keys here; --local: here alone
  edge-agent doctor       check this machine, with its agent or without: network first, then services; --json for programs
  edge-agent check        say whether this version can run on the data here; changes nothing, also while an agent runs
  edge-agent metrics-key  print the bearer key of this agent's metrics, for a Prometheus on this machine
  edge-agent rotate-key   change the WireGuard key of this machine; connections through its network go on
  edge-agent --version
  edge-agent --help

Exit status: 0 stopped, 1 failed, 2 bad setting, 3 enrolment refused, 4 its node was deleted, or is another machine now; of doctor: 0 nothing failed, 1 something did; of check: 0 it can run, 1 it cannot.

Settings (environment variables):
${settingsHelp(AGENT_SETTINGS)}`;
}

function isCommand(word: string): word is (typeof COMMANDS)[number] {
  return (COMMANDS as readonly string[]).includes(word);
}
