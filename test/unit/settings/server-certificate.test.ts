/** The files of an admin's certificate: what is wrong with them is said in one line before anything starts. */
import { createPrivateKey } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { readAdminConfig } from '../../../settings/admin.ts';
import { selfSigned } from '../../../transport/vpn/relay/self-signed.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const YEAR_MS = 365 * 86_400_000;

const read = (env: Record<string, string>) =>
  readAdminConfig({ MASTER_KEY: 'a-master-key-for-tests', ...env }, 'host.example');

function problemsOf(env: Record<string, string>): readonly string[] {
  const config = read(env);
  return config.ok ? [] : config.problems;
}

/** A pair in files. `change` makes it another one. */
function files(
  t: ExecutionContext,
  nowMs = Date.now(),
  change: (made: { certificate: string; key: string }) => { certificate: string; key: string } = (made) => made,
) {
  const directory = temporaryDirectory(t);
  const { certificate, key } = change(selfSigned('host.example', nowMs));
  const paths = { certificate: join(directory, 'tls.crt'), key: join(directory, 'tls.key') };
  writeFileSync(paths.certificate, certificate);
  writeFileSync(paths.key, key);
  return { paths, env: { ADMIN_TLS_CERT_FILE: paths.certificate, ADMIN_TLS_KEY_FILE: paths.key } };
}

test('with both files an admin has the URL of HTTPS, unless told otherwise', (t) => {
  const { env } = files(t);
  const [given, told, none] = [env, { ...env, ADMIN_URLS: 'https://edge.example' }, {}].map((more) => read(more));

  t.deepEqual(given?.ok === true && given.config.ADMIN_URLS, ['https://host.example:44000']);
  t.deepEqual(told?.ok === true && told.config.ADMIN_URLS, ['https://edge.example']);
  t.deepEqual(none?.ok === true && none.config.ADMIN_URLS, ['http://host.example:44000']);
});

test('one file alone, and files that are not there, are refused', (t) => {
  const { env, paths } = files(t);

  const both = 'ADMIN_TLS_CERT_FILE and ADMIN_TLS_KEY_FILE should both be set, or neither';
  t.deepEqual(problemsOf({ ADMIN_TLS_CERT_FILE: paths.certificate }), [both]);
  t.deepEqual(problemsOf({ ADMIN_TLS_KEY_FILE: paths.key }), [both]);
  t.deepEqual(problemsOf({ ...env, ADMIN_TLS_KEY_FILE: '/nowhere/tls.key' }), [
    'ADMIN_TLS_KEY_FILE is "/nowhere/tls.key": the file cannot be read (ENOENT); it should be a PEM file of an unencrypted private key',
  ]);
  t.deepEqual(problemsOf({ ...env, ADMIN_TLS_CERT_FILE: '/' }), [
    'ADMIN_TLS_CERT_FILE is "/": the file cannot be read (EISDIR); it should be a PEM file of certificates',
  ]);
});

test('a key that is encrypted, or of another certificate, is refused without a word of it', (t) => {
  const encrypted = files(t, Date.now(), ({ certificate, key }) => ({
    certificate,
    key: createPrivateKey(key)
      .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'secret' })
      .toString(),
  }));
  const other = files(t, Date.now(), ({ certificate }) => ({
    certificate,
    key: selfSigned('a', Date.now()).key,
  }));
  const [first, second] = [encrypted.paths.key, other.paths.key].map((path) => JSON.stringify(path));

  t.deepEqual(problemsOf(encrypted.env), [
    `ADMIN_TLS_KEY_FILE is ${first}: the file holds none that can be read; it should be a PEM file of an unencrypted private key`,
  ]);
  t.deepEqual(problemsOf(other.env), [
    `ADMIN_TLS_KEY_FILE is ${second}: it is not the key of the certificate in ADMIN_TLS_CERT_FILE`,
  ]);
});

test('a certificate that has expired, or that is of the future, is refused with its date', (t) => {
  const [old, young] = [files(t, Date.now() - 11 * YEAR_MS), files(t, Date.now() + YEAR_MS)];

  t.regex(
    problemsOf(old.env).join(),
    /^ADMIN_TLS_CERT_FILE is "\S+": the certificate expired at \d{4}-\S+Z; it should be one that is valid now$/u,
  );
  t.regex(
    problemsOf(young.env).join(),
    /^ADMIN_TLS_CERT_FILE is "\S+": the certificate is valid from \S+Z on, and this machine has \S+Z; one of them is wrong$/u,
  );
});

test('a file of a certificate that is none, and one beyond a megabyte, are refused', (t) => {
  const none = files(t, Date.now(), ({ key }) => ({ certificate: key, key }));
  const large = files(t, Date.now(), ({ certificate, key }) => ({ certificate: certificate.padEnd(1_048_577), key }));

  t.regex(problemsOf(none.env).join(), /: the file holds none; it should be a PEM file of certificates$/u);
  t.regex(problemsOf(large.env).join(), /: the file is too large; it should be a PEM file of certificates$/u);
});
