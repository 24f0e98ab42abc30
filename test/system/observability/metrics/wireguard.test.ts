/** Metrics of WireGuard against wireguard-go itself, and against programs that only look like it. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { wireguardMetrics, MACHINE_WIREGUARD } from '../../../../agent/observability/metrics/wireguard.ts';
import type { WireguardSources } from '../../../../agent/observability/metrics/wireguard.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { metricsProblems } from '../../../support/observability/promtool.ts';
import { documentedMetrics, familiesOf, seriesOf } from '../../../support/observability/series.ts';
import { until } from '../../../support/until.ts';
import { startWireguard, wireguardProblem, WIREGUARD_SOCKETS } from '../../../support/vpn/wireguard.ts';
import type { WireguardEnd, WireguardPair } from '../../../support/vpn/wireguard.ts';
import { scaled } from '../../../support/busy.ts';
import type { Scope } from '../../../support/scope.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { listeningAt, pour } from '../../../support/net/listening.ts';

const test = await peerTest('wireguard-go', 'wg', 'ip', 'promtool');

/** Nothing of this machine, and nobody who waits long. */
function sources(t: ExecutionContext, more: Partial<WireguardSources> = {}): WireguardSources {
  const empty = temporaryDirectory(t);
  return { ...MACHINE_WIREGUARD, sockets: empty, interfaces: empty, limits: { readMsMax: scaled(1_000) }, ...more };
}

/** What the metrics say of the one peer of an interface. */
function peerMetrics(
  text: string,
  { name }: WireguardEnd,
  { publicKey }: WireguardEnd,
  node = '',
): (number | undefined)[] {
  const all = seriesOf(text);
  return ['latest_handshake_seconds', 'received_bytes_total', 'sent_bytes_total'].map(
    (metric) => all[`wireguard_${metric}{interface="${name}",public_key="${publicKey}",friendly_name="${node}"}`],
  );
}

/** Metrics and the words of `wg` from one moment: read again while bytes still come. */
async function together(
  read: () => Promise<string>,
  end: WireguardEnd,
): Promise<{ text: string; dumped: (number | undefined)[] }> {
  return until('a quiet moment', async () => {
    const before = await end.dump();
    const text = await read();
    const [handshake, received, sent] = (await end.dump())[1]?.slice(4, 7).map(Number) ?? [];
    return JSON.stringify(before) === JSON.stringify(await end.dump()) && { text, dumped: [handshake, received, sent] };
  });
}

/** Every way in which a secret or an address could be written. */
function secretsOf({ ends, presharedKey }: WireguardPair): string[] {
  const keys = [presharedKey, ...ends.map(({ privateKey }) => privateKey)];
  return [
    ...keys,
    ...keys.map((key) => Buffer.from(key, 'base64').toString('hex')),
    ...ends.map(({ address }) => address),
    '198.51.100',
  ];
}

if (wireguardProblem === null) {
  test('after a real handshake metrics equal those of wg and name peers by node, without private keys and addresses', async (t) => {
    const pair = await startWireguard(t);
    const [one, other] = pair.ends;
    t.deepEqual(
      peerMetrics(await wireguardMetrics(sources(t, { sockets: WIREGUARD_SOCKETS })), one, other),
      [0, 0, 0],
      'before any handshake',
    );

    await until('the handshake', async () => {
      await one.send(1_000); // an interface that is only just up drops what comes too early
      return Number((await one.dump())[1]?.[4]) > 0 && Number((await other.dump())[1]?.[5]) > 1_000;
    });

    for (const [end, peer] of [
      [one, other],
      [other, one],
    ] as const) {
      const { text, dumped } = await together(
        () =>
          wireguardMetrics(
            sources(t, {
              sockets: WIREGUARD_SOCKETS,
              peers: () => new Map([[one.publicKey, { node: 'node "one"', path: 'relayed', mtu: 1_440 }]]),
            }),
          ),
        end,
      );
      t.deepEqual(
        Object.entries(seriesOf(text)).filter(([name]) => name.startsWith('wireguard_peer_path')),
        [
          [
            `wireguard_peer_path{interface="${other.name}",public_key="${one.publicKey}",friendly_name="node \\"one\\"",path="relayed"}`,
            1,
          ],
        ],
      );
      t.deepEqual(
        Object.entries(seriesOf(text)).filter(([name]) => name.startsWith('wireguard_peer_mtu_bytes')),
        [
          [
            `wireguard_peer_mtu_bytes{interface="${other.name}",public_key="${one.publicKey}",friendly_name="node \\"one\\""}`,
            1_440,
          ],
        ],
      );
      t.deepEqual(peerMetrics(text, end, peer, peer === one ? String.raw`node \"one\"` : ''), dumped);
      t.true(
        dumped.every((value) => (value ?? 0) > 0),
        JSON.stringify(dumped),
      );
      t.is(seriesOf(text)[`wireguard_interface_up{interface="${end.name}"}`], 1);
      t.is(await metricsProblems(text), '');
      for (const secret of secretsOf(pair)) t.false(text.includes(secret), secret);
    }

    // The kernel has no WireGuard everywhere, so its way is walked with interfaces that wg can ask as well.
    const interfaces = temporaryDirectory(t);
    for (const [name, uevent] of [
      [one.name, 'DEVTYPE=wireguard\n'],
      ['eth0', ''],
    ] as const) {
      mkdirSync(join(interfaces, name));
      writeFileSync(join(interfaces, name, 'uevent'), `${uevent}INTERFACE=${name}\n`);
    }
    const asked = await together(() => wireguardMetrics(sources(t, { interfaces })), one);
    t.deepEqual(peerMetrics(asked.text, one, other), asked.dumped);
    t.is(seriesOf(asked.text)['wireguard_interfaces'], 1);
    for (const secret of secretsOf(pair)) t.false(asked.text.includes(secret), secret);

    await other.kill();
    const left = await wireguardMetrics(sources(t, { sockets: WIREGUARD_SOCKETS }));
    t.false(left.includes(`"${other.name}"`), 'a program that was killed leaves its socket, and no interface');
    t.is(seriesOf(left)[`wireguard_interface_up{interface="${one.name}"}`], 1);
  });
} else {
  test(`after a real handshake metrics equal those of wg (left out: it ${wireguardProblem})`, (t) => t.pass());
}

test('a machine without WireGuard says so, in an exposition without faults', async (t) => {
  const text = await wireguardMetrics(sources(t, { sockets: '/nowhere', interfaces: '/nowhere' }));

  t.deepEqual(seriesOf(text), { wireguard_interfaces: 0 });
  t.is(await metricsProblems(text), '');
  t.deepEqual(documentedMetrics('WireGuard'), familiesOf(text));
});

test('where the agent may not look, the number of interfaces is absent and not zero', async (t) => {
  const file = join(temporaryDirectory(t), 'file');
  writeFileSync(file, '');

  // reading it fails as a directory that is closed does, which root never meets
  t.deepEqual(seriesOf(await wireguardMetrics(sources(t, { sockets: file }))), {});
});

/** A key that must not come out. */
const CANARY = 'c'.repeat(64);

const KEY = 'a'.repeat(64);
const PEERS = Array.from({ length: 500 }, (_, index) => `public_key=${index.toString(16).padStart(64, '0')}\n`).join(
  '',
);

/** What is written by programs in the place of wireguard-go. */
const HOSTILE: Readonly<Record<string, (socket: Socket) => unknown>> = {
  silent: () => {},
  early: (socket) => socket.end(`private_key=${CANARY}\npublic_key=${KEY}\n`),
  endless: (socket) => pour(socket, `preshared_key=${CANARY}\n`.repeat(500)),
  longline: (socket) => pour(socket, CANARY.repeat(100)),
  manypeers: (socket) => pour(socket, PEERS),
  badkey: (socket) => socket.write(`public_key=${'g'.repeat(64)}\nerrno=0\n\n`),
  badnumber: (socket) => socket.write(`public_key=${KEY}\ntx_bytes=1e9\nerrno=0\n\n`),
  early_number: (socket) => socket.write('tx_bytes=1\nerrno=0\n\n'),
  refused: (socket) => socket.write('errno=1\n\n'),
  garbage: (socket) => socket.write(Buffer.from(Array.from({ length: 3_000 }, (_, index) => index % 256))),
  http: (socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'),
  cut: (socket) => socket.destroy(),
};

/** Has a program answer in the place of wireguard-go, for an interface of this name. */
function listen(t: Scope, sockets: string, name: string, serve: (socket: Socket) => unknown): Promise<void> {
  const server = createServer((socket) => void socket.once('data', () => serve(socket)));
  return listeningAt(t, server, join(sockets, `${name}.sock`));
}

test('programs that lie, flood or say nothing are down within the time limit, and others are read all the same', async (t) => {
  const sockets = temporaryDirectory(t);
  await Promise.all(Object.entries(HOSTILE).map(([name, serve]) => listen(t, sockets, name, serve)));
  await Promise.all(
    ['good', 'a name', 'x"y', 'a-name-too-long-for-linux'].map((name) =>
      listen(t, sockets, name, (socket) => {
        const answer = `private_key=${CANARY}\nlisten_port=1\npublic_key=${'0'.repeat(64)}\npreshared_key=${CANARY}\nendpoint=192.0.2.7:5\nlast_handshake_time_sec=1700000000\nlast_handshake_time_nsec=5\ntx_bytes=18446744073709551615\nrx_bytes=3\nallowed_ip=10.0.0.1/32\nprotocol_version=1\nerrno=0\n\n`;
        for (const piece of answer.match(/[\s\S]{1,7}/gu) ?? []) socket.write(piece);
      }),
    ),
  );
  writeFileSync(join(sockets, 'plainfile.sock'), '');
  const beganMs = performance.now();

  const text = await wireguardMetrics(sources(t, { sockets }));

  t.true(performance.now() - beganMs < scaled(5_000));
  const peer = `{interface="good",public_key="${Buffer.alloc(32).toString('base64')}",friendly_name=""}`;
  t.deepEqual(seriesOf(text), {
    wireguard_interfaces: Object.keys(HOSTILE).length + 1,
    ...Object.fromEntries(Object.keys(HOSTILE).map((name) => [`wireguard_interface_up{interface="${name}"}`, 0])),
    'wireguard_interface_up{interface="good"}': 1,
    [`wireguard_sent_bytes_total${peer}`]: 2 ** 64,
    [`wireguard_received_bytes_total${peer}`]: 3,
    [`wireguard_latest_handshake_seconds${peer}`]: 1_700_000_000,
  });
  t.false(text.includes('cccc') || text.includes('192.0.2') || text.includes('10.0.0'));
  t.is(await metricsProblems(text), '');
});

test('an answer without end is cut at its size, and a line without end at its length, long before the time is up', async (t) => {
  for (const [name, limits] of [
    ['endless', { answerBytesMax: 200_000 }],
    ['longline', { answerBytesMax: 1_000_000_000 }],
  ] as const) {
    const sockets = temporaryDirectory(t);
    await listen(t, sockets, 'wg0', (socket) => HOSTILE[name]?.(socket));
    const beganMs = performance.now();
    const text = await wireguardMetrics(sources(t, { sockets, limits: { ...limits, readMsMax: 30_000 } }));

    t.is(seriesOf(text)['wireguard_interface_up{interface="wg0"}'], 0);
    t.true(performance.now() - beganMs < scaled(10_000), name);
  }
});

test('interfaces beyond the limits are left out or down', async (t) => {
  const sockets = temporaryDirectory(t);
  const twoPeers = `public_key=${'1'.repeat(64)}\npublic_key=${'2'.repeat(64)}\nerrno=0\n\n`;
  for (const name of ['a', 'b', 'c']) await listen(t, sockets, name, (socket) => socket.end(twoPeers));
  const up = async (limits: WireguardSources['limits']) => {
    const all = seriesOf(await wireguardMetrics(sources(t, { sockets, limits: limits ?? {} })));
    return ['a', 'b', 'c'].map((name) => all[`wireguard_interface_up{interface="${name}"}`]);
  };

  t.deepEqual(await up({ interfacesMax: 2 }), [1, 1, undefined]);
  t.deepEqual(await up({ peersMax: 5 }), [1, 1, 0]);
  t.deepEqual(await up({ peersMax: 1 }), [0, 0, 0]);
});

test('a wg that is missing, hangs, floods or speaks nonsense makes the interface of the kernel down', async (t) => {
  const interfaces = temporaryDirectory(t);
  mkdirSync(join(interfaces, 'wg0'));
  writeFileSync(join(interfaces, 'wg0', 'uevent'), 'DEVTYPE=wireguard\nINTERFACE=wg0\n');
  const key = `${'A'.repeat(43)}=`;
  const program = (script: string) => {
    const path = join(temporaryDirectory(t), 'wg');
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o700);
    return path;
  };
  const up = async (wg: string) =>
    seriesOf(await wireguardMetrics(sources(t, { interfaces, wg })))['wireguard_interface_up{interface="wg0"}'];

  t.is(await up('/nowhere/wg'), 0);
  for (const script of [
    'exec sleep 60',
    'exec yes',
    'exit 1',
    'echo nonsense',
    `printf '${key}\\tx\\t1\\n'`,
    `printf '${key}\\t-1\\t1\\n'`,
    `printf '${key}\\n'`,
  ])
    t.is(await up(program(script)), 0, script);
  t.is(await up(program(`[ "$*" = "show wg0 transfer" ] && printf '${key}\\t5\\t6\\n' || printf '${key}\\t7\\n'`)), 1);
});
