/** Names put together, on paths of the test's own, with a resolvectl that writes down what it is asked. */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { createNames, removeNames, type Names } from '../../../../../agent/vpn/names/names.ts';
import type { NameMode } from '../../../../../agent/config.ts';
import { SYSTEM_PLACES, type SystemPlaces } from '../../../../../agent/vpn/names/system/places.ts';
import type { VpnMembership } from '../../../../../transport/protocol/vpn.ts';
import { type LogLine, recordingLog, silentLog } from '../../../../support/log.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';
import { until } from '../../../../support/until.ts';
import { network, OTHER, peer, SELF } from '../../../../support/agent/names-fixture.ts';

/**
 * systemd-resolved is asked again after 30 s where a program took over 5 s, or seemed to as this process was held up.
 * In ms.
 */
const ASKED_AGAIN_MS_MAX = 120_000;

const HOSTS = '127.0.0.1 localhost\n';

interface Fixture {
  readonly names: Names;
  readonly log: readonly LogLine[];
  readonly places: SystemPlaces;
  /** What resolvectl was asked. */
  readonly asked: () => readonly string[];
  readonly file: (name: string) => string;
}

/** `resolvectl`: what it does after writing down its words. */
function fixture(
  t: ExecutionContext,
  mode: NameMode,
  {
    resolvectl = 'exit 0',
    resolvConf = 'nameserver 127.0.0.53\n',
    hosts = HOSTS,
  }: { readonly resolvectl?: string; readonly resolvConf?: string; readonly hosts?: string | null } = {},
): Fixture {
  const directory = temporaryDirectory(t);
  const path = (name: string) => join(directory, name);
  mkdirSync(path('interfaces/edge0'), { recursive: true });
  if (hosts !== null) writeFileSync(path('hosts'), hosts);
  writeFileSync(path('resolv.conf'), resolvConf);
  writeFileSync(path('resolvectl'), `#!/bin/sh\necho "$@" >> '${path('asked')}'\n${resolvectl}\n`);
  chmodSync(path('resolvectl'), 0o755);
  const places = {
    ...SYSTEM_PLACES,
    hosts: path('hosts'),
    resolvConf: path('resolv.conf'),
    nsswitch: path('nsswitch'),
    resolvectl: path('resolvectl'),
    interfaces: path('interfaces'),
    isOneByOne: () => false,
  };
  const log = recordingLog();
  const names = createNames({
    mode,
    node: SELF,
    interfaceName: 'edge0',
    log,
    places,
    port: 0,
  });
  t.teardown(() => names.close());
  return {
    names,
    log: log.lines,
    places,
    asked: () => (existsSync(path('asked')) ? readFileSync(path('asked'), 'utf8').trim().split('\n') : []),
    file: (name) => readFileSync(path(name), 'latin1'),
  };
}

/** This member has addresses of this machine. */
function here(changes: Partial<VpnMembership> = {}): VpnMembership {
  return network({ ipv4: '127.0.0.1', ipv6: '::1', ...changes });
}

test('systemd-resolved is told of servers and domains for the interface, and of their end', async (t) => {
  const { names, asked, file } = fixture(t, 'resolver');
  names.update(here(), [peer(OTHER, 3, ['web-1'])]);
  // A free port for UDP may be somebody's for TCP: that address is listened on a moment later, and told then.
  await until(
    'a way with both servers',
    () => names.way === 'systemd-resolved' && asked().slice(-7)[0] === 'dns edge0 127.0.0.1 ::1',
    ASKED_AGAIN_MS_MAX,
  );

  const domains =
    '~prod.edge.internal ~cluster-prod.edge.internal ~1.64.100.in-addr.arpa ~0.0.0.0.1.0.0.0.4.6.0.0.0.0.d.f.ip6.arpa';
  const told = asked().filter((line) => !line.startsWith('revert'));
  t.deepEqual(told.slice(-7), [
    'dns edge0 127.0.0.1 ::1',
    `domain edge0 ${domains}`,
    'default-route edge0 false',
    'dnssec edge0 no',
    'dnsovertls edge0 no',
    'llmnr edge0 no',
    'mdns edge0 no',
  ]);
  t.deepEqual([names.way, names.problem(), names.note(), file('hosts')], ['systemd-resolved', null, null, HOSTS]);

  names.update(here(), [peer(OTHER, 4)]);
  await names.close();
  t.is(asked().at(-1), 'revert edge0');
  t.is(
    asked().filter((line) => line.startsWith('domain')).length,
    told.filter((line) => line.startsWith('domain')).length,
    'names that change start no program',
  );
});

test('where systemd-resolved fails the hosts file is taken, without a word of addresses in the log', async (t) => {
  const { names, log, file } = fixture(t, 'resolver', {
    resolvectl: 'echo "no link 100.64.1.2" >&2; [ "$1" != domain ]',
  });
  names.update(here(), [peer(OTHER, 3, ['web-1'])]);
  await until('why', () => names.note()?.endsWith('domain failed'), ASKED_AGAIN_MS_MAX);

  t.deepEqual(
    [names.way, names.problem(), names.note()],
    ['hosts', null, 'Names of the cluster are in the hosts file: systemd-resolved: resolvectl domain failed'],
  );
  t.regex(file('hosts'), /\tweb-1\.prod\.edge\.internal /u);
  t.regex(JSON.stringify(log), /systemd-resolved: resolvectl domain failed/u);
  t.notRegex(JSON.stringify(log), /100\.64/u);
});

test('without any way there is one sentence, and the next look may find one', async (t) => {
  const { names, places } = fixture(t, 'hosts', { hosts: null });
  names.update(here(), []);
  t.is(
    await until('a problem', () => names.problem()),
    `Programs of this machine do not find names of the cluster: ${places.hosts}: it does not exist`,
  );

  writeFileSync(places.hosts, HOSTS);
  names.update(here(), []);
  await until('a way', () => names.way === 'hosts' && names.problem() === null);
  t.pass();
});

test('a domain that is none is a problem, and nothing gets anywhere', async (t) => {
  const { names, file } = fixture(t, 'hosts');
  names.update(here({ domain: 'a b' }), []);

  t.is(names.problem(), 'The domain of the cluster is no host name, so that its members have no names here');
  await names.close();
  t.is(file('hosts'), HOSTS);
});

test('updates in a row end in the last one; leaving the VPN takes the names away, and off gives none', async (t) => {
  const { names, file } = fixture(t, 'hosts');
  for (const alias of ['one', 'two', 'three']) names.update(here(), [peer(OTHER, 3, [alias])]);
  await until('the last', () => file('hosts').includes('three.prod'));
  t.notRegex(file('hosts'), /one\.prod|two\.prod/u);
  names.clear();
  await until('none', () => file('hosts') === HOSTS);
  t.is(names.problem(), null);

  const off = fixture(t, 'off');
  off.names.update(here(), [peer(OTHER, 3, ['web-1'])]);
  await off.names.close();
  t.deepEqual([off.file('hosts'), off.names.problem(), off.names.way], [HOSTS, null, null]);
});

test('what others overwrote comes back, and after the end nothing does', async (t) => {
  const { names, places, file } = fixture(t, 'hosts');
  names.update(here(), [peer(OTHER, 3, ['web-1'])]);
  await until('a way', () => names.way);
  writeFileSync(places.hosts, '127.0.0.1 other\n');
  await until('the names', () => file('hosts').includes('web-1.prod'));

  await names.close();
  names.update(here(), [peer(OTHER, 3, ['web-1'])]);
  names.clear();
  await names.close();
  t.is(file('hosts'), '127.0.0.1 other\n');
});

test('what an earlier agent left goes with the next start, or on leaving', async (t) => {
  const left = `${HOSTS}# BEGIN edge-agent ${SELF}\n100.64.1.3\tweb-1.prod.edge.internal web-1.cluster-prod.edge.internal\n# END edge-agent ${SELF}\n`;
  const { file, places, log } = fixture(t, 'resolver', { hosts: left });
  await until('the start', () => file('hosts') === HOSTS);

  writeFileSync(places.hosts, left);
  await removeNames({
    node: SELF,
    interfaceName: 'edge0',
    log: silentLog,
    places,
  });
  t.is(file('hosts'), HOSTS);
  t.deepEqual(log, []);
});
