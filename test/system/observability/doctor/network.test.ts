/** Checks of the network, against networks and admins that really are so. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { askAdmins } from '../../../../agent/observability/doctor/admin-answers.ts';
import { diagnose } from '../../../../agent/observability/doctor/check.ts';
import { networkChecks } from '../../../../agent/observability/doctor/network.ts';
import type { Diagnosis } from '../../../../transport/protocol/diagnosis.ts';
import { scaled } from '../../../support/busy.ts';
import { origin, silentPort, target } from '../../../support/net/listening.ts';
import { freePort } from '../../../support/net/free-ports.ts';

const SEALED = new URL('sealed-machine.ts', import.meta.url).pathname;

/** An admin whose clock is so far off. */
async function admin(t: ExecutionContext, aheadMs: number | null, status = 200): Promise<string> {
  return origin(t, (_request, response) => {
    response.sendDate = false;
    if (aheadMs !== null) response.setHeader('date', new Date(Date.now() + aheadMs).toUTCString());
    response.writeHead(status).end('[]');
  });
}

async function looked(adminUrls: readonly string[], answerMsMax = scaled(10_000)): Promise<Diagnosis> {
  let asked: ReturnType<typeof askAdmins> | null = null;
  return diagnose(
    networkChecks({
      adminUrls: () => adminUrls,
      proc: '/proc',
      answers: () => (asked ??= askAdmins(adminUrls, AbortSignal.timeout(answerMsMax))),
    }),
    { checkMsMax: scaled(12_000), totalMsMax: scaled(15_000) }, // tests of these have those of their own
  );
}

const found = (report: Diagnosis, name: string) => {
  const check = report.checks.find((one) => one.name === name);
  return [check?.status, check?.summary ?? ''] as const;
};

test('an admin that answers is found, with the time that it took', async (t) => {
  const well = await looked([await admin(t, 0)]);

  t.deepEqual([found(well, 'admins')[0], found(well, 'dns')[0], found(well, 'clock')[0]], ['pass', 'pass', 'pass']);
});

for (const [status, said] of [
  [204, ', which is no answer of an admin'],
  [302, ', which is no answer of an admin'],
  [404, ', which is no answer of an admin'],
  [407, ', which is no answer of an admin'],
  [429, ''],
  [502, ''],
  [503, ''],
] as const)
  test(`whoever answers ${status} in the place of an admin is told, by that status`, async (t) => {
    const url = await admin(t, 0, status);

    t.deepEqual(found(await looked([url]), 'admins'), [
      'fail',
      `The admin ${url} is not reachable: it answered with status ${status}${said}.`,
    ]);
  });

test('the first admin down is a warning while another one answers, and all of them down is a failure', async (t) => {
  const [up, down, alsoDown] = [
    await admin(t, 0),
    `http://127.0.0.1:${await freePort()}`,
    `http://127.0.0.1:${await freePort()}`,
  ];

  const [warned, passed, failed] = [await looked([down, up]), await looked([up, down]), await looked([down, alsoDown])];

  t.deepEqual(
    [warned, passed, failed].map((report) => found(report, 'admins')[0]),
    ['warn', 'pass', 'fail'],
  );
  t.regex(found(warned, 'admins')[1], /connection refused/u);
  t.deepEqual([found(warned, 'clock')[0], found(failed, 'clock')[0]], ['pass', 'warn']);
});

test('an admin that takes connections and says nothing, and one that speaks no HTTP, are over in time', async (t) => {
  const silent = await silentPort(t);
  const rude = await target(t, (socket) => socket.resume().end('go away\r\n\r\n'));
  const startedMs = performance.now();

  const report = await looked(
    [`http://127.0.0.1:${silent}`, `http://127.0.0.1:${rude}`, `https://127.0.0.1:${rude}`],
    scaled(300),
  );

  t.true(performance.now() - startedMs < scaled(2_500));
  t.is(found(report, 'admins')[0], 'fail');
  const { details } = report.checks.find(({ name }) => name === 'admins') ?? {};
  t.regex(String(details?.['admin_1']), /no answer in time/u);
  t.regex(String(details?.['admin_2']), /does not speak HTTP/u);
});

test("credentials and paths of an admin's URL are told nowhere", async (t) => {
  const url = (await admin(t, 0)).replace('//', '//operator:hunter22@');

  const report = await looked([`${url}/a-secret-path?token=abc`, 'http://user:hunter22@127.0.0.1:1/']);

  t.notRegex(JSON.stringify(report), /hunter22|secret-path|token=abc/u);
});

test('an admin that is reached without encryption beyond loopback is warned of, by its name alone', async (t) => {
  const own = [
    'http://127.0.0.1:1',
    'http://127.1:1',
    'http://[::1]:1',
    'http://[::ffff:127.0.0.1]:1',
    'http://localhost:1',
    'http://admin.localhost:1',
    'https://admin.invalid',
  ];
  const report = await looked(
    [...own, 'http://user:hunter22@192.0.2.1:1/path', 'http://127.0.0.1.invalid:1', 'http://notlocalhost:1'],
    100,
  );

  t.deepEqual(found(await looked(own, 100), 'encryption'), [
    'pass',
    'Nothing goes to admins unencrypted beyond this machine.',
  ]);
  t.deepEqual(found(report, 'encryption'), [
    'warn',
    '3 admins are reached without encryption: the token of this node can be read on the way.',
  ]);
  t.deepEqual(report.checks.find(({ name }) => name === 'encryption')?.details, {
    admins: 'http://192.0.2.1:1 http://127.0.0.1.invalid:1 http://notlocalhost:1',
  });
});

test('a clock that is off by some seconds is warned of, by half a minute it fails, and in which direction is told', async (t) => {
  const reports = await Promise.all(
    [0, 10_000, -10_000, 60_000, -60_000, null].map(async (aheadMs) => looked([await admin(t, aheadMs)])),
  );

  t.deepEqual(
    reports.map((report) => found(report, 'clock')[0]),
    ['pass', 'warn', 'warn', 'fail', 'fail', 'warn'],
  );
  t.regex(found(reports[1] as Diagnosis, 'clock')[1], /behind/u);
  t.regex(found(reports[2] as Diagnosis, 'clock')[1], /ahead of/u);
  t.regex(found(reports[5] as Diagnosis, 'clock')[1], /No admin told the time/u);
});

test('a name that nobody knows fails, and is a warning beside one that is known', async (t) => {
  const known = (await admin(t, 0)).replace('127.0.0.1', 'localhost');

  const [failed, warned, passed] = [
    await looked(['http://no-such-admin.invalid:1/']),
    await looked([known, 'http://no-such-admin.invalid:1/']),
    await looked([known]),
  ];

  t.deepEqual(
    [failed, warned, passed].map((report) => found(report, 'dns')[0]),
    ['fail', 'warn', 'pass'],
  );
  t.regex(found(failed, 'dns')[1], /no-such-admin\.invalid/u);
});

test('in an isolated network namespace the doctor reports missing interface, route and names, and checks the rest', async (t) => {
  const unshared = async (setUp: string): Promise<Diagnosis | string> =>
    promisify(execFile)(
      'unshare',
      [process.getuid?.() === 0 ? '-n' : '-rn', 'sh', '-c', `${setUp} && exec '${process.execPath}' '${SEALED}'`],
      { timeout: 30_000 },
    ).then(
      ({ stdout }) => JSON.parse(stdout) as Diagnosis,
      (error: Error) => error.message,
    );
  const dark = await unshared('true');
  const noRoute = await unshared(
    'ip link set lo up && ip link add a0 type veth peer name b0 && ip address add 192.168.78.1/24 dev a0 && ip link set a0 up && ip link set b0 up',
  );
  t.pass();
  if (typeof dark === 'string') return t.log(`left out, for want of networks of its own (unshare): ${dark}`);
  if (typeof noRoute === 'string') return t.log(`left out, for want of networks of its own (ip): ${noRoute}`);

  t.deepEqual(
    ['interface', 'dns', 'admins', 'clock'].map((name) => found(dark, name)[0]),
    ['fail', 'fail', 'fail', 'warn'],
  );
  t.regex(found(dark, 'interface')[1], /No network interface/u);
  t.regex(found(dark, 'admins')[1], /no route/u);
  t.deepEqual(found(noRoute, 'interface'), [
    'warn',
    'This machine has no default route: it reaches its own networks only.',
  ]);
  t.is(found(dark, 'file_descriptors')[0], 'pass');
});
