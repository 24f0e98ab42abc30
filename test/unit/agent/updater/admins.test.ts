import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { adminUrls, mirrorUrls } from '../../../../agent/updater/admins.ts';
import { UPDATER_SETTINGS, type UpdaterConfig } from '../../../../agent/updater/settings.ts';
import { readSettings } from '../../../../settings/environment.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

/** Settings of the updater of a machine whose agent knows these admins; null: it is not enrolled. */
function configOf(
  t: ExecutionContext,
  known: readonly string[] | null,
  env: Readonly<Record<string, string>> = {},
  reachedBy?: string,
): UpdaterConfig {
  const directory = temporaryDirectory(t);
  const identity = { node_id: 'x', enrollment: known === null ? null : { admin_urls: known }, reached_by: reachedBy };
  writeFileSync(join(directory, 'identity.json'), JSON.stringify(identity));
  const read = readSettings(UPDATER_SETTINGS, { ...env, UPDATER_AGENT_DATA_DIR: directory });
  if (!read.ok) throw new Error(read.problems.join('; '));
  return read.settings;
}

test('admins of the settings are asked first, then those that the agent knows now', (t) => {
  const known = ['https://new.example.com/', 'https://old.example.com'];
  const config = configOf(t, known, { UPDATER_ADMIN_URLS: 'https://old.example.com' });

  t.deepEqual(adminUrls(config), ['https://old.example.com', 'https://new.example.com']);
  t.deepEqual(adminUrls(configOf(t, known)), ['https://new.example.com', 'https://old.example.com']);
});

test('the admin that let the agent in last is asked last where no list names it', (t) => {
  const config = configOf(t, ['https://new.example.com'], {}, 'https://old.example.com/');

  t.deepEqual(adminUrls(config), ['https://new.example.com', 'https://old.example.com']);
  t.deepEqual(adminUrls(configOf(t, ['https://old.example.com'], {}, 'https://old.example.com/')), [
    'https://old.example.com',
  ]);
});

test('mirrors are asked before admins, and a machine that knows nobody says which settings name them', (t) => {
  const config = configOf(t, ['https://a.example.com'], { UPDATER_MIRRORS: 'https://mirror.example.com' });

  t.deepEqual(mirrorUrls(config), ['https://mirror.example.com', 'https://a.example.com']);
  t.throws(() => mirrorUrls(configOf(t, null)), { message: /set UPDATER_ADMIN_URLS or UPDATER_MIRRORS/u });
});

test('the agent may reach admins by http where the updater does only if it is allowed to', (t) => {
  const known = ['http://a.example.com'];

  t.deepEqual(adminUrls(configOf(t, known)), []);
  t.deepEqual(adminUrls(configOf(t, known, { UPDATER_ALLOW_HTTP: 'true' })), known);
});
