/** Diagnoses this machine, with an admin by name and one by address; run in a network of its own. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AGENT_SETTINGS } from '../../../../agent/config.ts';
import { diagnoseMachine } from '../../../../agent/observability/doctor/command.ts';
import { readSettings } from '../../../../settings/environment.ts';

const directory = mkdtempSync(join(tmpdir(), 'edge-doctor-'));
const read = readSettings(AGENT_SETTINGS, {
  AGENT_DATA_DIR: directory,
  ADMIN_URLS: 'http://192.0.2.1:44000,http://admin.edge.invalid:44000',
});
if (!read.ok) throw new Error(read.problems.join());
process.stdout.write(JSON.stringify(await diagnoseMachine(read.settings, '0.0.0')));
rmSync(directory, { recursive: true });
