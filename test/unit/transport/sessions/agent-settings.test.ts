/** What agents are told, as the parts of an admin open. */
import test from 'ava';
import { createAdminUrls } from '../../../../settings/admin-urls.ts';
import { AgentSettings } from '../../../../transport/protocol/agent-settings.ts';
import { createAgentSettings } from '../../../../transport/sessions/agent-settings.ts';

const SETTINGS = {
  CORE_DERP_MAP_URLS: [],
  SSH_RECORDING: 'off',
  SSH_RECORDING_MAX_BYTES: 1_024,
  SSH_RECORDING_MAX_MS: 1_000,
} as const;

const observer = { host: null, port: 43_478, public_key: Buffer.alloc(32, 1).toString('base64') };

/** The next turn of the event loop. */
const turn = (): Promise<void> => new Promise(setImmediate);

test('what is told is made once for all who are told in one turn, and anew for those of the next', async (t) => {
  let made = 0;
  const told = createAgentSettings(SETTINGS, () => [`https://admin-${(made += 1)}.test`]);

  const first = Array.from({ length: 3 }, () => told.settings);
  await turn();
  const next = told.settings;

  t.is(made, 2);
  t.deepEqual(new Set(first).size, 1);
  t.deepEqual([first[0]?.admin_urls, next.admin_urls], [['https://admin-1.test'], ['https://admin-2.test']]);
  const fields = Object.values(Object.getOwnPropertyDescriptors(next));
  t.true(
    fields.every((field) => 'value' in field),
    'JSON is quickest of plain values',
  );
});

test('agents are told what is known when they ask, as a frame carries it', async (t) => {
  const urls = createAdminUrls({ ADMIN_URLS: [] });
  const told = createAgentSettings(SETTINGS, urls.all);
  const early = JSON.stringify(told.settings);

  urls.listensAt('http://127.0.0.1:44000');
  let observers: (typeof observer)[] = [];
  told.coordinates(() => ({ mode: 'embedded', observers }));
  observers = [observer]; // a port that could not be had at first
  told.relaysAt(() => ['http://127.0.0.1:44000/map']);
  await turn();

  const common = { refresh_ms: 300_000, ssh_recording: { mode: 'off', bytes_max: 1_024, ms_max: 1_000 } };
  t.deepEqual(AgentSettings.parse(JSON.parse(early)), {
    ...common,
    admin_urls: [],
    derp_map_urls: [],
    mesh: { mode: 'embedded', observers: [] },
  });
  t.deepEqual(AgentSettings.parse(JSON.parse(JSON.stringify(told.settings))), {
    ...common,
    admin_urls: ['http://127.0.0.1:44000'],
    derp_map_urls: ['http://127.0.0.1:44000/map'],
    mesh: { mode: 'embedded', observers: [observer] },
  });
});

test('whoever configured relay maps is told of no other', (t) => {
  const configured = { ...SETTINGS, CORE_DERP_MAP_URLS: ['https://maps.test/derp'] };
  const told = createAgentSettings(configured, () => []);

  told.relaysAt(() => ['http://127.0.0.1:44000/map']);

  t.deepEqual(told.settings.derp_map_urls, ['https://maps.test/derp']);
});

test('agents are told of each place of the relay map once, in order, and of no more than a frame carries', (t) => {
  const told = createAgentSettings(SETTINGS, () => []);
  const places = Array.from({ length: 40 }, (_, index) => `https://edge-${index}.test/map`);

  told.relaysAt(() => ['https://edge-1.test/map', ...places]);

  const urls = AgentSettings.parse(JSON.parse(JSON.stringify(told.settings))).derp_map_urls;
  t.deepEqual([urls.length, urls.slice(0, 3)], [32, [1, 0, 2].map((index) => `https://edge-${index}.test/map`)]);
});

test('agents are told to ping more often, and to suspect a silent admin, while there is another one that they may ask', async (t) => {
  const told = createAgentSettings(SETTINGS, () => []);
  let hasPeers = false;
  told.peersKnownBy(() => hasPeers);
  const pace = () => {
    const { ping_ms: pingMs, suspect_after_ms: afterMs } = AgentSettings.parse(
      JSON.parse(JSON.stringify(told.settings)),
    );
    return [pingMs, afterMs];
  };

  const alone = pace();
  hasPeers = true;
  await turn();
  const peered = pace();

  t.deepEqual(alone, [undefined, undefined], 'an admin alone says what it said before');
  t.deepEqual(peered, [3_300, 3_000]);
});
