/** What of a machine says how its programs find names, where others made something odd of it. */
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { RESOLUTION_BYTES_MAX } from '../../../../../../agent/vpn/names/limits.ts';
import { createNames } from '../../../../../../agent/vpn/names/names.ts';
import { SYSTEM_PLACES, type SystemPlaces } from '../../../../../../agent/vpn/names/system/places.ts';
import { hookResolvConf } from '../../../../../../agent/vpn/names/system/resolv-conf.ts';
import { hookResolved, isResolvedUsed } from '../../../../../../agent/vpn/names/system/systemd-resolved.ts';
import { network, SELF } from '../../../../../support/agent/names-fixture.ts';
import { recordingLog } from '../../../../../support/log.ts';
import { temporaryDirectory } from '../../../../../support/temporary-directory.ts';
import { until } from '../../../../../support/until.ts';

/** Processor time of one look at both files, in ms. Seen: 1, and 8,000 where each line end was a line of its own. */
const LOOK_MS_MAX = 200;

/** Places of a machine whose hosts file is as usual. */
function placesFixture(t: ExecutionContext): { readonly places: SystemPlaces; readonly directory: string } {
  const directory = temporaryDirectory(t);
  const path = (name: string) => join(directory, name);
  writeFileSync(path('hosts'), '127.0.0.1 localhost\n');
  const places = {
    ...SYSTEM_PLACES,
    hosts: path('hosts'),
    resolvConf: path('resolv.conf'),
    nsswitch: path('nsswitch'),
    resolvectl: path('resolvectl'),
    interfaces: path('interfaces'),
    isOneByOne: () => true,
  };
  return { places, directory };
}

/** Whether programs ask systemd-resolved by these two files. */
function isUsed({ places }: ReturnType<typeof placesFixture>, resolvConf: string, nsswitch = ''): boolean {
  writeFileSync(places.resolvConf, resolvConf);
  writeFileSync(places.nsswitch, nsswitch);
  return isResolvedUsed(places);
}

test('programs ask systemd-resolved where one of both files says so in one line', (t) => {
  const fixture = placesFixture(t);
  for (const resolvConf of [
    'nameserver 127.0.0.53',
    '# a\n\tnameserver\t127.0.0.54 \r\n',
    'nameserver 127.0.0.53\n\n\nx',
  ])
    t.true(isUsed(fixture, resolvConf), resolvConf);
  for (const resolvConf of ['nameserver\n127.0.0.53', '#nameserver 127.0.0.53', 'nameserver 127.0.0.5'])
    t.false(isUsed(fixture, resolvConf), resolvConf);
  for (const nsswitch of [
    'hosts: files resolve',
    ' hosts:resolve [!UNAVAIL=return] dns',
    'a: b\r\nhosts:\tresolve\r\n',
  ])
    t.true(isUsed(fixture, '', nsswitch), nsswitch);
  for (const nsswitch of ['hosts: files\nresolve', 'hosts: files # resolve', 'hosts: resolver', 'networks: resolve'])
    t.false(isUsed(fixture, '', nsswitch), nsswitch);
});

test('a look at these files takes no time, whatever is in them, and no more is read than their beginning', (t) => {
  const fixture = placesFixture(t);
  for (const piece of ['\n', '\r', ' ', '\r\n', 'nameserver ', 'nameserver\n', 'hosts:\r', 'hosts: ', 'hosts:\n']) {
    const text = piece.repeat(RESOLUTION_BYTES_MAX / piece.length);
    writeFileSync(fixture.places.resolvConf, text);
    writeFileSync(fixture.places.nsswitch, text);
    const before = process.threadCpuUsage();

    const isFound = isResolvedUsed(fixture.places);

    const { user, system } = process.threadCpuUsage(before);
    t.false(isFound);
    t.true((user + system) / 1_000 < LOOK_MS_MAX, `${JSON.stringify(piece)} took ${(user + system) / 1_000} ms`);
  }
  t.true(isUsed(fixture, `${'\n'.repeat(RESOLUTION_BYTES_MAX - 22)}nameserver 127.0.0.53\n`));
  t.false(isUsed(fixture, `${'\n'.repeat(RESOLUTION_BYTES_MAX)}nameserver 127.0.0.53\n`));
});

test('a resolv.conf that is larger than what is read is left alone', async (t) => {
  const { places } = placesFixture(t);
  const text = `nameserver 192.0.2.1\n${'#'.repeat(RESOLUTION_BYTES_MAX)}\n`;
  writeFileSync(places.resolvConf, text);

  t.is(await hookResolvConf(places.resolvConf, SELF, '127.1.2.3'), `it is larger than ${RESOLUTION_BYTES_MAX} bytes`);
  t.is(readFileSync(places.resolvConf, 'latin1'), text);
});

test('a resolv.conf that cannot be looked at is a warning, and costs nothing else', async (t) => {
  const { places, directory } = placesFixture(t);
  symlinkSync(join(directory, 'loop'), join(directory, 'loop'));
  const resolvConf = join(directory, 'loop', 'resolv.conf');
  const log = recordingLog();
  const options = { node: SELF, interfaceName: 'edge0', log, port: 0 };
  const names = createNames({ ...options, mode: 'hosts', places: { ...places, resolvConf } });
  t.teardown(() => names.close());

  await until('the warning', () => log.lines.length > 0);
  names.update(network(), []);
  await until('a way', () => names.way === 'hosts');

  t.deepEqual(
    log.lines.filter(({ level }) => level === 'warn').map(({ message }) => message),
    [`Names of the cluster may be left in ${resolvConf}: it cannot be read: ELOOP`],
  );
  t.is(names.problem(), null);
  t.is(await hookResolvConf(resolvConf, SELF, '127.1.2.3'), 'it cannot be read: ELOOP');
});

test('a fault of ours costs the names alone, is told once, and the next look tries again', async (t) => {
  const { places } = placesFixture(t);
  let isBroken = true;
  const broken = new Proxy(places, {
    get(target, name) {
      if (name === 'hosts' && isBroken) throw new Error('a fault');
      return Reflect.get(target, name) as unknown;
    },
  });
  const log = recordingLog();
  const names = createNames({ mode: 'hosts', node: SELF, interfaceName: 'edge0', log, places: broken, port: 0 });
  t.teardown(() => names.close());
  names.update(network(), []);

  t.is(await until('the problem', () => names.problem()), 'Names of the cluster could not be kept up: trying again');
  names.update(network(), []);
  isBroken = false;
  await until('the names', () => names.way === 'hosts' && names.problem() === null);

  t.is(log.lines.filter(({ level }) => level === 'warn').length, 1);
});

test('resolvectl sees nothing of the environment of the agent but where programs are (E4)', async (t) => {
  const { places, directory } = placesFixture(t);
  const seen = join(directory, 'seen');
  mkdirSync(join(places.interfaces, 'edge0'), { recursive: true });
  writeFileSync(places.resolvectl, `#!/bin/sh\nenv >> '${seen}'\n`);
  chmodSync(places.resolvectl, 0o755);
  process.env['RESOLUTION_TEST_SECRET'] = 'of-the-agent';
  t.teardown(() => delete process.env['RESOLUTION_TEST_SECRET']);

  const options = { interfaceName: 'edge0', program: places.resolvectl, interfaces: places.interfaces };
  t.is(await hookResolved(options, ['127.0.0.1'], ['prod.edge.internal']), null);

  const names = new Set(
    readFileSync(seen, 'utf8')
      .split('\n')
      .flatMap((line) => line.split('=')[0] || []),
  );
  for (const ofShell of ['PWD', 'OLDPWD', 'SHLVL', '_']) names.delete(ofShell);
  t.deepEqual([...names].toSorted(), ['LC_ALL', 'PATH', 'SYSTEMD_COLORS', 'SYSTEMD_PAGER']);
});
