/**
 * What own-namespaces.test.ts kills: a process that left its parent, a network with a name, an interface into it, a
 * file. Says where the file is.
 */
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { enterOwnNamespaces } from './own-namespaces.ts';

const name = process.argv[2] ?? '';
const problem = enterOwnNamespaces({});
if (problem !== null) throw new Error(problem);
spawn('sleep', ['infinity'], { argv0: name, detached: true, stdio: 'ignore' }).unref();
execFileSync('ip', ['netns', 'add', name]);
execFileSync('ip', ['link', 'add', name, 'type', 'veth', 'peer', 'name', 'other', 'netns', name]);
process.stdout.write(`${mkdtempSync(join(tmpdir(), name))}\n`);
setInterval(() => {}, 60_000);
