/** A program that does for the updater what the agent does, and misbehaves as a test wants. */

/** What it does when it is started. */
export type Behaviour = 'well' | 'crashes' | 'hangs' | 'not-connected' | 'ill' | 'refuses' | 'other-version';

/** Its text. It writes health.json every 50 ms. */
export function smallAgent(version: string, behaviour: Behaviour): string {
  return `
const { writeFileSync, renameSync, mkdirSync } = require('node:fs');
const { join } = require('node:path');
const [version, behaviour] = ${JSON.stringify([version, behaviour])};
const directory = process.env.AGENT_DATA_DIR;
const word = process.argv[2];
if (word === '--version') console.log(behaviour === 'other-version' ? '9.9.9' : version);
else if (word === 'check') {
  if (behaviour === 'refuses') { console.error('the journal is of a later version'); process.exitCode = 1; }
} else if (behaviour === 'crashes') { console.error('it crashes'); process.exitCode = 1; }
else {
  const startedAt = Date.now();
  const isWell = behaviour !== 'not-connected';
  mkdirSync(directory, { recursive: true });
  const write = () => {
    writeFileSync(join(directory, 'health.json.new'), JSON.stringify({
      pid: process.pid, version, started_at: startedAt, connected_since: isWell ? startedAt : null,
      services_ok: behaviour !== 'ill', problems: behaviour === 'ill' ? ['ssh: the port is taken'] : [],
      last_answer_at: isWell ? Date.now() : null,
    }));
    renameSync(join(directory, 'health.json.new'), join(directory, 'health.json'));
  };
  setInterval(behaviour === 'hangs' ? () => {} : write, 50);
  if (behaviour !== 'hangs') write();
  process.on('SIGTERM', () => process.exit(0));
}
`;
}

/** What an updater does when it is to serve. `lives`: it says so until somebody removes starts-updater. */
export type Serving = 'ends' | 'hangs' | 'lives';

/** The text of an updater that passes its check. */
export function smallUpdater(version: string, serving: Serving = 'ends'): string {
  return `
const { existsSync, writeFileSync } = require('node:fs');
const [version, serving] = ${JSON.stringify([version, serving])};
console.log(process.argv[2] === '--version' ? version : 'ok ' + version);
if (process.argv[2] === 'serve' && serving === 'hangs') for (;;);
if (process.argv[2] === 'serve' && serving === 'lives')
  setInterval(() => {
    if (existsSync(process.env.UPDATER_DIR + '/starts-updater')) writeFileSync(process.env.UPDATER_DIR + '/updater-alive', '');
  }, 200);
`;
}

/** A runtime that is this process's Node, without its 127 MB. */
export function smallRuntime(): string {
  return `#!/bin/sh\nexec '${process.execPath}' "$@"\n`;
}
