/**
 * Only agents are egress points (R1): the kernel is asked what sockets an admin has while clients are taken everywhere.
 * Linux only.
 */
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import test from 'ava';
import { FLEET_KEYS } from '../../support/fleet.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { connectThrough, streamThrough } from '../../support/net/reach-fixture.ts';
import { echo } from '../../support/net/listening.ts';

const fleet = sharedFleet(test, { agents: 1 });

/** Both ends' ports of every TCP connection of a process that is not only listening. */
function connectionsOf(pid: number): { readonly local: number; readonly remote: number }[] {
  const inodes = new Set(
    readdirSync(`/proc/${pid}/fd`).map((fd) => /^socket:\[(\d+)\]$/u.exec(linkOf(`/proc/${pid}/fd/${fd}`))?.[1]),
  );
  const port = (end = '') => Number.parseInt(end.split(':')[1] ?? '', 16);
  return ['tcp', 'tcp6'].flatMap((file) =>
    readFileSync(`/proc/${pid}/net/${file}`, 'utf8')
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/u))
      .filter((fields) => fields[3] !== LISTENING && inodes.has(fields[9] ?? ''))
      .map((fields) => ({ local: port(fields[1]), remote: port(fields[2]) })),
  );
}

/** State of a socket that listens. Source: Linux, tcp_states.h. */
const LISTENING = '0A';

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return ''; // closed meanwhile
  }
}

test('an admin only takes connections, whatever its clients ask for: it dials nothing (R1)', async (t) => {
  const admin = fleet().admin();
  const { vpn_hostname: name } = await fleet().node();
  const port = await echo(t);
  const chained = `${name}:${FLEET_KEYS.PROXY_KEY}`;

  const open = await streamThrough(admin.httpProxyPort, `${name}:${port}`);
  const refused = [
    await connectThrough(admin.httpProxyPort, `127.0.0.1:${port}`), // no node
    await connectThrough(admin.httpProxyPort, `127.0.0.1:${port}`, chained), // the machine's own loopback
    await connectThrough(admin.httpProxyPort, `${name}:1`),
  ];
  const seen = connectionsOf(admin.program.pid);

  t.true(refused.every(({ status }) => status !== 200));
  const served = [Number(new URL(admin.url).port), admin.httpProxyPort, admin.socks5ProxyPort];
  t.deepEqual(
    seen.filter(({ local }) => !served.includes(local)),
    [],
  );
  t.true(
    served.slice(0, 2).every((own) => seen.some(({ local }) => local === own)),
    'the session, the tunnel and the client are seen',
  );
  open.destroy();
});
