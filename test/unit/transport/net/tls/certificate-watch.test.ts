/** A certificate whose files are replaced beneath it, as those do who renew them. */
import { mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { serverCertificate } from '../../../../../settings/server-certificate.ts';
import {
  CertificateWatch,
  LOOK_MS,
  SECOND_LOOK_MS,
  type ServedPair,
} from '../../../../../transport/net/tls/certificate-watch.ts';
import { selfSigned } from '../../../../../transport/vpn/relay/self-signed.ts';
import { recordingLog } from '../../../../support/log.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';
import { until } from '../../../../support/until.ts';

const pairOf = (host: string, nowMs = Date.now()) => selfSigned(host, nowMs);

/** A watch whose time the test makes pass. */
function watched(t: ExecutionContext, files: { readonly certificate: string; readonly key: string }) {
  const log = recordingLog();
  const shown: ServedPair[] = [];
  let due: { readonly ms: number; readonly task: () => void } | null = null;
  const watch = new CertificateWatch({
    files: [files.certificate, files.key],
    read: () =>
      serverCertificate({ setting: 'CERT', path: files.certificate }, { setting: 'KEY', path: files.key }, Date.now()),
    after: (ms, task) => {
      due = { ms, task };
      return () => {
        due = null;
      };
    },
    log,
  });
  watch.onChange((pair) => shown.push(pair));
  t.teardown(() => watch.close());
  return {
    watch,
    log,
    shown,
    /** Looks once. Answers after how many ms it will look again. */
    look: async (): Promise<number> => {
      const now = due;
      due = null;
      now?.task();
      return until('the next look', () => due?.ms ?? null);
    },
    isPlanned: () => due !== null,
  };
}

function written(t: ExecutionContext) {
  const directory = temporaryDirectory(t);
  const files = { certificate: join(directory, 'tls.crt'), key: join(directory, 'tls.key') };
  const write = ({ certificate, key }: { readonly certificate: string; readonly key: string }): void => {
    writeFileSync(files.certificate, certificate);
    writeFileSync(files.key, key);
  };
  return { directory, files, write };
}

test('files that are written anew are taken up at the next look, and told once', async (t) => {
  const { files, write } = written(t);
  const [first, second] = [pairOf('a'), pairOf('b')];
  write(first);
  const { watch, look, shown, log } = watched(t, files);

  t.is(await look(), LOOK_MS);
  t.deepEqual([shown.length, watch.pair.certificate], [0, first.certificate]);
  write(second);
  await look();
  await look();

  t.deepEqual(
    shown.map(({ certificate, key }) => ({ certificate, key })),
    [second],
  );
  t.is(watch.pair.certificate, second.certificate);
  t.like(watch.readings(), { isRefused: false, reloads: 1 });
  t.is(log.lines.filter(({ level }) => level === 'error').length, 0);
});

test('a link that is turned to another directory is followed, also where size and time are the same', async (t) => {
  const directory = temporaryDirectory(t);
  const made = [pairOf('a'), pairOf('b')];
  for (const [at, { certificate, key }] of made.entries()) {
    mkdirSync(join(directory, `..${at}`));
    for (const [name, text] of [
      ['tls.crt', certificate],
      ['tls.key', key],
    ] as const) {
      writeFileSync(join(directory, `..${at}`, name), text);
      utimesSync(join(directory, `..${at}`, name), 1_700_000_000, 1_700_000_000);
    }
  }
  symlinkSync('..0', join(directory, '..data'));
  for (const name of ['tls.crt', 'tls.key']) symlinkSync(join('..data', name), join(directory, name));
  const { look, shown } = watched(t, { certificate: join(directory, 'tls.crt'), key: join(directory, 'tls.key') });

  await look();
  symlinkSync('..1', join(directory, '..data_tmp')); // as a kubelet does with a secret
  renameSync(join(directory, '..data_tmp'), join(directory, '..data'));
  await look();

  t.deepEqual(
    shown.map(({ certificate }) => certificate),
    [made[1]?.certificate],
  );
});

test('a pair that is half replaced is read again soon and told of only if it stays so; the old one is shown meanwhile', async (t) => {
  const { files, write } = written(t);
  const [first, second] = [pairOf('a'), pairOf('b')];
  write(first);
  const { watch, look, shown, log } = watched(t, files);
  await look();

  writeFileSync(files.certificate, second.certificate);
  t.is(await look(), SECOND_LOOK_MS);
  t.deepEqual([watch.readings().isRefused, log.lines.length], [false, 0]);
  t.is(await look(), LOOK_MS);
  await look();

  t.true(watch.readings().isRefused);
  t.is(watch.pair.certificate, first.certificate);
  t.deepEqual(
    log.lines.map(({ level, fields }) => [level, 'problem' in fields ? fields.problem : null]),
    [['error', `KEY is ${JSON.stringify(files.key)}: it is not the key of the certificate in CERT`]],
  );
  writeFileSync(files.key, second.key);
  await look();
  t.deepEqual([watch.readings().isRefused, shown.length, watch.pair.key], [false, 1, second.key]);
});

test('files that go away, or expire, leave the one before; those that come back as they were change nothing', async (t) => {
  const { files, write } = written(t);
  const first = pairOf('a');
  write(first);
  const { watch, look, shown } = watched(t, files);

  rmSync(files.key);
  await look();
  await look();
  t.true(watch.readings().isRefused);
  write(pairOf('b', Date.now() - 11 * 365 * 86_400_000));
  await look();
  t.true(watch.readings().isRefused);
  write(first);
  await look();

  t.deepEqual([watch.readings().isRefused, shown.length, watch.readings().reloads], [false, 0, 0]);
});

test('a pair that cannot be used at the start is thrown, and one that is closed looks no more', async (t) => {
  const { files, write } = written(t);

  t.throws(() => watched(t, files), { message: /^CERT is .*: the file cannot be read \(ENOENT\)/u });
  write(pairOf('a'));
  const { watch, isPlanned } = watched(t, files);
  watch.close();

  t.false(isPlanned());
});
