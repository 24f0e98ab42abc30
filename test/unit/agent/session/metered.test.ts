/** What an idle session costs on a link that is paid by the byte, and when it takes silence for the end. */
import test from 'ava';
import { registrationOf } from '../../../../agent/config.ts';
import type { AgentSettings } from '../../../../transport/protocol/agent-settings.ts';
import { METERED_PING_MS, PEERED_PING_MS, SUSPECT_AFTER_MS } from '../../../../transport/protocol/limits.ts';
import { PROTOCOL_VERSION, PROTOCOL_VERSION_RHYTHM } from '../../../../transport/protocol/version.ts';
import { agentConfig } from '../../../support/agent/agent-config.ts';
import { SETTINGS, sessionFixture } from '../../../support/agent/session-fixture.ts';

const DAY_MS = 86_400_000;

/** As an admin with VPN and recordings sends them. */
const LARGE: AgentSettings = {
  ...SETTINGS,
  admin_urls: ['https://edge-1.example.com:44000', 'https://edge-2.example.com:44000'],
  derp_map_urls: ['https://edge-1.example.com:44000/api/v1/relays/map.json'],
  ssh_recording: { mode: 'pty', bytes_max: 4_194_304, ms_max: 3_600_000 },
  mesh: {
    mode: 'embedded',
    observers: [{ host: null, port: 43_478, public_key: 'aqaqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqo=' }],
  },
};

/** All services of an agent, well. */
const SERVICES = [
  'identity',
  'journal',
  'runner',
  'disk',
  'http_proxy',
  'socks5_proxy',
  'ssh',
  'api',
  'host_metrics',
  'wireguard_metrics',
  'vpn',
  'names',
].map((name) => ({ name, healthy: true, detail: null }));

/**
 * Around a message, in bytes: the header of a WebSocket (RFC 6455, 5.2; with the mask of a client), a record of TLS
 * 1.3, and TCP over IPv4 with timestamps, once for the segment and once for its acknowledgement, as if none went with
 * another.
 */
const AROUND = { fromAgent: 8, fromAdmin: 4, tls: 22, segment: 52, acknowledgement: 52 } as const;

function onWire(frame: object, from: 'fromAgent' | 'fromAdmin'): number {
  return JSON.stringify(frame).length + AROUND[from] + AROUND.tls + AROUND.segment + AROUND.acknowledgement;
}

/** A day of an idle session that an admin answers. */
function idleDay(env: Readonly<Record<string, string>>, protocol = PROTOCOL_VERSION, settings = LARGE) {
  const fixture = sessionFixture({ registration: registrationOf(agentConfig(env), '1.0.0') }, () => 0.5, {
    report: () => ({ services: SERVICES }),
  });
  const { clock, link, links } = fixture;
  link().open();
  link().hear({ type: 'welcome', protocol, cluster_name: 'c', settings });
  let bytes = 0;
  let answered = 0;
  for (let ms = 0; ms < DAY_MS; ms += 1_000) {
    clock.pass(1_000);
    for (; answered < link().frames.length; answered += 1) {
      const frame = link().frames[answered];
      if (frame === undefined) break;
      bytes += onWire(frame, 'fromAgent');
      const answer =
        frame.type === 'ping'
          ? { type: 'pong' as const }
          : frame.type === 'refresh-settings'
            ? { type: 'settings' as const, settings }
            : null;
      if (answer === null) continue;
      bytes += onWire({ seq: answered, ...answer }, 'fromAdmin');
      link().hear(answer);
    }
  }
  return { bytes, links: links.length, types: link().types() };
}

const count = (types: readonly string[], type: string): number => types.filter((one) => one === type).length;

test('a day of an idle metered agent takes less than 1 MB, with TLS and TCP; of another ten times as much', (t) => {
  const metered = idleDay({ AGENT_METERED: 'true' });
  const usual = idleDay({});

  t.log(`metered ${metered.bytes} bytes a day, else ${usual.bytes}`);
  t.is(metered.links, 1, 'nobody takes it for dead');
  t.true(metered.bytes < 1_000_000, `${metered.bytes} bytes`);
  t.true(usual.bytes > 7_000_000, `${usual.bytes} bytes`);
  t.deepEqual(
    [count(metered.types, 'ping'), count(metered.types, 'report')].map((number) => Math.round(number / 10)),
    [144, 14],
  );
});

test('beside other admins a day of an agent takes some 5 MB more, and of a metered one nothing', (t) => {
  const peered = { ...LARGE, ping_ms: PEERED_PING_MS, suspect_after_ms: SUSPECT_AFTER_MS };
  const more = idleDay({}, PROTOCOL_VERSION, peered).bytes - idleDay({}).bytes;
  const metered = idleDay({ AGENT_METERED: 'true' }, PROTOCOL_VERSION, peered);

  t.log(`${more} bytes a day more`);
  t.true(more > 4_000_000 && more < 7_000_000, `${more} bytes`);
  t.deepEqual(
    [metered.links, count(metered.types, 'ping')],
    [1, count(idleDay({ AGENT_METERED: 'true' }).types, 'ping')],
  );
});

test('an admin that does not know of it hears a metered agent as often as any', (t) => {
  const { types } = idleDay({ AGENT_METERED: 'true' }, PROTOCOL_VERSION_RHYTHM - 1);

  t.is(Math.round(count(types, 'ping') / 100), 86);
});

test('a report in which something changed goes with the next ping, and two missed answers are the end', (t) => {
  let isWell = true;
  const { clock, link, links } = sessionFixture(
    { registration: registrationOf(agentConfig({ AGENT_METERED: 'true' }), '1.0.0') },
    () => 0.999,
    { report: () => ({ services: [{ name: 'disk', healthy: isWell, detail: null }] }) },
  );
  link().open();
  link().hear({ type: 'welcome', protocol: PROTOCOL_VERSION, cluster_name: 'c', settings: SETTINGS });
  clock.pass(METERED_PING_MS);
  link().hear({ type: 'pong' });
  clock.pass(METERED_PING_MS);
  link().hear({ type: 'pong' });
  t.is(count(link().types(), 'report'), 1);

  isWell = false;
  clock.pass(METERED_PING_MS);
  t.is(count(link().types(), 'report'), 2);
  clock.pass(METERED_PING_MS - 1_000);
  t.is(links.length, 1);
  clock.pass(5_000);
  t.true(link(0).isTerminated);
});
