/** A file of the WireGuard key that is damaged, in one letter or in many: it costs a key, and never the agent. */
import { readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { AgentProblem } from '../../../../agent/problem.ts';
import { OPEN_AGAIN_MS } from '../../../../agent/vpn/held-member.ts';
import { OwnKeys, openVpnKeys, storedPublicKey } from '../../../../agent/vpn/keys-file.ts';
import { isWireguardKey } from '../../../../transport/protocol/wireguard.ts';
import { makeKeyPair } from '../../../../transport/vpn/wireguard/keys.ts';
import { recordingLog } from '../../../support/log.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { until } from '../../../support/until.ts';
import { ADMIN, EMBEDDED, open, welcomed } from './membership-fixture.ts';

const DAMAGED = /^The file of the WireGuard key was damaged/u;

/** As a bit of a disk makes it: as long as before. */
const turned = (key: string): string => `{${key.slice(1)}`;

/** What is no key, and has the length of one: among them the one form too many of the same 32 bytes. */
const NO_KEYS = [turned(makeKeyPair().privateKey), '='.repeat(44), `${'A'.repeat(42)}B=`];

function stored(t: ExecutionContext, privateKey: string, nextPrivateKey: string | null): string {
  const path = join(temporaryDirectory(t), 'mesh-keys.json');
  writeFileSync(
    path,
    JSON.stringify({ private_key: privateKey, next_private_key: nextPrivateKey, listen_port: 20_001 }),
  );
  return path;
}

test('a key that is none is made anew, in the file too, and the log is told', (t) => {
  for (const noKey of NO_KEYS) {
    const log = recordingLog();
    const path = stored(t, noKey, null);
    t.is(storedPublicKey(path), null);
    const keys = new OwnKeys(path, 0, log);

    t.is(keys.open(), null);

    t.true(isWireguardKey(keys.held?.privateKey ?? ''));
    t.deepEqual(openVpnKeys(path, 0), { ok: true, keys: keys.held, wasDamaged: false });
    t.deepEqual(
      log.lines.map(({ level, message }) => [level, DAMAGED.test(message)]),
      [['warn', true]],
    );
  }
});

test('a key that was to follow and is none is left out; the one in use stays, and another may follow', (t) => {
  for (const noKey of NO_KEYS) {
    const log = recordingLog();
    const { privateKey, publicKey } = makeKeyPair();
    const path = stored(t, privateKey, noKey);
    const keys = new OwnKeys(path, 0, log);

    t.is(keys.open(), null);
    keys.turnTo(makeKeyPair().publicKey);
    t.deepEqual(keys.held, { privateKey, nextPrivateKey: null, listenPort: 20_001 });
    t.is(storedPublicKey(path), publicKey);
    t.deepEqual(openVpnKeys(path, 0), { ok: true, keys: keys.held, wasDamaged: false });
    t.is(new OwnKeys(path, 0, log).open(), null);
    t.is(log.lines.filter(({ message }) => DAMAGED.test(message)).length, 1, 'once, and not at the next start');

    t.is(keys.makeNext(), null);
    t.true(isWireguardKey(keys.held?.nextPrivateKey ?? ''));
  }
});

test('keys that are whole, and a file that is not there yet, are no damage', (t) => {
  const log = recordingLog();
  const path = stored(t, makeKeyPair().privateKey, makeKeyPair().privateKey);
  const before = readFileSync(path, 'utf8');

  t.is(new OwnKeys(path, 0, log).open(), null);
  t.is(new OwnKeys(join(temporaryDirectory(t), 'mesh-keys.json'), 0, log).open(), null);
  const older = join(temporaryDirectory(t), 'mesh-keys.json');
  writeFileSync(older, JSON.stringify({ private_key: makeKeyPair().privateKey, listen_port: 20_001 }));
  t.is(new OwnKeys(older, 0, log).open(), null);

  t.is(readFileSync(path, 'utf8'), before);
  t.deepEqual(log.lines, []);
});

test('a key that cannot be read now is kept, told, and used as soon as it can be read', async (t) => {
  const fixture = open(t, {});
  const { keysPath, membership, clock, log } = fixture;
  const { privateKey, publicKey } = makeKeyPair();
  const whole = stored(t, privateKey, null);
  symlinkSync(keysPath, keysPath); // which no right of this user lets be read

  membership.configured(EMBEDDED, ADMIN);
  t.regex(membership.service.note?.() ?? '', /^This machine joins no VPN: the WireGuard key cannot be read: /u);
  t.throws(() => storedPublicKey(keysPath), { instanceOf: AgentProblem, message: /cannot be read/u });
  rmSync(keysPath);
  renameSync(whole, keysPath);
  clock.pass(OPEN_AGAIN_MS);

  await until('it is in the VPN', () => fixture.wanted.length > 0);
  t.is(fixture.wanted[0]?.privateKey, privateKey);
  t.is(storedPublicKey(keysPath), publicKey);
  t.false(log.lines.some(({ message }) => DAMAGED.test(message)));
  await membership.close({ isKept: false });
});

test('an agent whose key was damaged is in the VPN of its cluster with another', async (t) => {
  const directory = temporaryDirectory(t);
  const first = open(t, { directory });
  await welcomed(first);
  first.joins(7);
  await first.membership.close({ isKept: true });
  const file = JSON.parse(readFileSync(first.keysPath, 'utf8')) as { private_key: string };
  writeFileSync(first.keysPath, JSON.stringify({ ...file, private_key: turned(file.private_key) }));

  const second = open(t, { directory });
  await welcomed(second);

  const [word] = second.said;
  t.is(word?.type === 'mesh-advertise' && word.advertisement.public_key, second.publicKey());
  t.deepEqual(second.wanted[0]?.addresses, [], 'what was told for the key before');
  t.regex((await second.log.seen(DAMAGED)).message, DAMAGED);
});

test('a fault of ours in making an interface costs the VPN alone, and is told', async (t) => {
  const fixture = open(t, { fault: new Error('a fault of ours') });
  const { membership } = fixture;

  fixture.membership.configured({ mode: 'embedded', observers: [] }, 'http://192.0.2.1');

  const { level, fields } = await fixture.log.seen(/could not be begun/u);
  t.regex((fields as { stack: string }).stack, /^at .*damaged-keys\.test\.ts:\d+/u, 'where it is');
  t.deepEqual([level, (fields as { error: Error }).error.message], ['error', 'a fault of ours']);
  t.is(membership.service.note?.(), 'This machine joins no VPN: a fault of ours');
  await membership.close({ isKept: false });
});
