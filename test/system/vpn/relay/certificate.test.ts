/** Certificates that a relay makes, and those that it is given. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { certificates } from '../../../support/net/certificates.ts';
import { relayCertificate } from '../../../../transport/vpn/relay/certificate.ts';
import { certificateSha256, selfSigned } from '../../../../transport/vpn/relay/self-signed.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const NOW = Date.UTC(2026, 10, 21);
const NONE = { certificateFile: undefined, keyFile: undefined };

test('a self-signed certificate is one of X.509 that OpenSSL reads, for the host that it names, now and for ten years', (t) => {
  for (const host of ['relay.example.com', '198.51.100.7', '2001:db8::7', '::1', '::ffff:198.51.100.7']) {
    const { certificate, key } = selfSigned(host, NOW);
    const read = new X509Certificate(certificate);

    t.true(read.verify(read.publicKey) && read.checkPrivateKey(createPrivateKey(key)));
    t.is(host.includes('.com') ? read.checkHost(host) : read.checkIP(host), host);
    t.is(read.checkHost('other.example.com'), undefined);
    t.false(read.ca);
    t.deepEqual([Date.parse(read.validFrom) < NOW, Date.parse(read.validTo) - NOW], [true, 3_650 * 86_400_000]);
    t.is(certificateSha256(certificate), read.fingerprint256.replaceAll(':', '').toLowerCase());
  }
});

test('it is made once, for its owner alone, and made anew for another host or when it is nearly over', async (t) => {
  const dataDir = temporaryDirectory(t);

  const first = await relayCertificate({ ...NONE, dataDir, hostName: '2001:db8::7', nowMs: NOW });
  const again = await relayCertificate({ ...NONE, dataDir, hostName: '2001:db8::7', nowMs: NOW });
  const other = await relayCertificate({ ...NONE, dataDir, hostName: 'relay.example.com', nowMs: NOW });
  const late = await relayCertificate({
    ...NONE,
    dataDir,
    hostName: 'relay.example.com',
    nowMs: NOW + 3_640 * 86_400_000,
  });

  const at = await Promise.all(
    Array.from({ length: 8 }, () => relayCertificate({ ...NONE, dataDir, hostName: 'busy.example.com', nowMs: NOW })),
  );

  // also of those that were made at the same time
  t.true(at.every(({ certificate, key }) => new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))));
  t.deepEqual(await readdir(dataDir), ['relay.pem']);
  t.deepEqual(again, first);
  t.is(new Set([first, other, late].map(({ pin }) => pin)).size, 3);
  t.is((await stat(join(dataDir, 'relay.pem'))).mode & 0o777, 0o600);
});

test("the operator's own needs no pin; a file that is not there is told", async (t) => {
  const made = await certificates(temporaryDirectory(t));
  const given = await relayCertificate({
    certificateFile: made.server,
    keyFile: made.serverKey,
    dataDir: '/nowhere',
    hostName: 'localhost',
    nowMs: NOW,
  });

  t.is(given.pin, null);
  await t.throwsAsync(
    relayCertificate({
      certificateFile: '/nowhere.pem',
      keyFile: made.serverKey,
      dataDir: '/nowhere',
      hostName: 'localhost',
      nowMs: NOW,
    }),
    { message: "The relay's file /nowhere.pem cannot be read: ENOENT" },
  );
});
