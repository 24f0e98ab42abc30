/**
 * What goes wrong on the way from the line to an agent, and the line that says so: on a plain Debian, before anything
 * is installed.
 */
import { readFileSync } from 'node:fs';
import { certificates } from '../../support/net/certificates.ts';
import { hangAfter } from '../../support/busy.ts';
import { startMachine } from '../../support/installing/machine.ts';
import { inTurn } from '../../support/installing/in-turn.ts';
import { startMirror } from '../../support/installing/mirror.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { CASES, WITH_KEY } from './refusal-cases.ts';

const test = await peerTest('root', 'debian-root');

/** What differs between runs. */
function comparable(said: string, url: string): string {
  return said
    .replaceAll(url, 'URL')
    .replaceAll(/releases\/targets\/files\/[\da-f]+\.gz/gu, 'FILE')
    .replaceAll(/serve [\da-f]+\.gz/gu, 'serve NAME')
    .replaceAll(/has \d+ MiB free/gu, 'has FREE MiB free')
    .trim();
}

test('each mistake gets one line that says what is wrong, what to do and what was left, and a status that is not 0', async (t) => {
  t.timeout(hangAfter(60_000));
  const said = await inTurn(CASES, async ({ words = '', mirror, fakes = {}, env, uid, before }) => {
    const machine = await startMachine(t);
    const { url, script } = await startMirror(t, mirror);
    for (const [name, text] of Object.entries(fakes))
      machine.write(`/opt/fakes/${name}`, `#!/bin/sh\n${text}\n`, 0o755);
    before?.(machine);
    const ended = await machine.run(`export PATH="/opt/fakes:$PATH"; sh -s -- ${words}`, {
      stdin: script,
      ...(env && { env }),
      ...(uid !== undefined && { uid }),
    });
    const lines = ended.stderr
      .trim()
      .split('\n')
      .filter((line) => !line.startsWith('Downloading '));
    return { status: ended.status, stdout: ended.stdout, says: comparable(lines.join('\n'), url) };
  });

  t.deepEqual(
    said.map((one, index) => ({ what: CASES[index]?.what, ...one })),
    CASES.map(({ what, status = 1, says }) => ({ what, status, stdout: '', says: `install.sh: ${says}` })),
  );
});

test('a certificate that the machine does not trust is named, and --ca-file makes it trusted', async (t) => {
  const made = await certificates(temporaryDirectory(t));
  const tls = { cert: readFileSync(made.server, 'utf8'), key: readFileSync(made.serverKey, 'utf8') };
  const { url, script, asked } = await startMirror(t, { tls, sends: () => null });
  const machine = await startMachine(t);
  machine.write('/root/ca.pem', readFileSync(made.ca, 'utf8'));

  for (const tool of ['curl', 'wget']) {
    const path = tool === 'curl' ? '$PATH' : '/opt/fakes:$PATH';
    if (tool === 'wget') await machine.run('rm /usr/bin/curl');
    const untrusted = await machine.run(`PATH="${path}" sh -s -- ${WITH_KEY}`, { stdin: script });
    const trusted = await machine.run(`PATH="${path}" sh -s -- ${WITH_KEY} --ca-file /root/ca.pem`, { stdin: script });

    t.regex(
      untrusted.stderr,
      new RegExp(`the certificate of ${url} is not trusted by this machine: give its authority by --ca-file`, 'u'),
      tool,
    );
    t.regex(trusted.stderr, new RegExp(`${url} does not serve`, 'u'), tool);
  }
  t.true(asked.length >= 2);
});

test('each machine gets the files of its own architecture', async (t) => {
  const machine = await startMachine(t);
  const mirror = await startMirror(t, {
    archs: ['linux-x64', 'linux-arm64'],
    sends: (path, good) => (path.includes('/files/') ? null : good),
  });
  const archOf = (path: string) => mirror.files.find((file) => file.path === path)?.arch;
  const got: (string | undefined)[] = [];

  for (const word of ['x86_64', 'amd64', 'aarch64', 'arm64']) {
    machine.write('/opt/fakes/uname', `#!/bin/sh\ncase $1 in -m) echo ${word} ;; *) echo Linux ;; esac\n`, 0o755);
    mirror.asked.splice(0);
    await machine.run(`export PATH="/opt/fakes:$PATH"; sh -s -- ${WITH_KEY}`, { stdin: mirror.script });
    got.push([...new Set(mirror.asked.map(archOf).filter((arch) => arch !== undefined))].join());
  }

  t.deepEqual(got, ['linux-x64', 'linux-x64', 'linux-arm64', 'linux-arm64']);
});
