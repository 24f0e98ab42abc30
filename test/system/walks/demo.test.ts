/**
 * The demo, and every line that it prints, as a person types them and sees them in a clone: `demo.txt`, to be read.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { USUAL_PORTS, type DemoPorts } from '../../../cli/demo/ports.ts';
import { hangAfter } from '../../support/busy.ts';
import { freePort } from '../../support/net/free-ports.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { ROOT } from '../../support/source/source-text.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { Terminal } from '../../support/walks/terminal.ts';
import { steadied } from '../../support/walks/variable-text.ts';

const test = await peerTest('tmux', 'curl', 'ssh', 'ssh-keygen');

const FILE = new URL('demo.txt', import.meta.url);

/** Variable with which what is shown now is kept, to be read. */
const KEEP_VARIABLE = 'EDGE_TEST_KEEP_WALKS';

/** What the walk takes at most on a machine that does nothing else, in ms. */
const WALK_MS_MAX = 60_000;

/** Neither the Node nor the programs of this clone, but npm. */
const PLAIN_PATH = [
  '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  (process.env['PATH'] ?? '').split(':').find((directory) => existsSync(join(directory, 'npm'))) ?? '',
].join(':');

/** Lines that go on, and what must be shown before Ctrl-C. */
const ENDLESS: readonly (readonly [line: RegExp, shown: RegExp])[] = [
  [/^edge forward /u, /LEADS TO[^]*demo-2/u],
  [/^edge events tail/u, /\nTIME/u],
  [/^edge webhook listen/u, /\nTIME/u],
];

/** Types one of the lines and answers what was shown. Whoever logs in leaves again. */
async function typed(terminal: Terminal, line: string): Promise<string> {
  const [, wanted] = ENDLESS.find(([form]) => form.test(line)) ?? [];
  await terminal.begin(line);
  if (wanted !== undefined) {
    await terminal.says(wanted);
    await terminal.press('C-c');
  } else if (line.startsWith('edge ssh ')) {
    await terminal.says(/\n\S*[$#]$/u);
    await terminal.type('exit');
  }
  const { shown, status } = await terminal.ended();
  return status === 0 ? shown : `${shown}\n(exit ${status})`;
}

/** The text as it is at each run. Others may have the usual ports meanwhile. */
function kept(text: string, data: string, home: string): string {
  const ports = Object.entries(JSON.parse(readFileSync(join(data, 'ports.json'), 'utf8')) as DemoPorts);
  const { local = '' } = /edge forward demo-2 (?<local>\d+):/u.exec(text)?.groups ?? {};
  const replaced: readonly (readonly [from: string | RegExp, to: string])[] = [
    [/ -- --port .*$/mu, ''],
    [/ --port \d+ --data .*$/mu, ''],
    [readFileSync(join(data, 'key'), 'utf8').trim(), 'c0ffee'.repeat(8)],
    [data, '/home/ada/edge/.data/demo'],
    [ROOT.replace(/\/$/u, ''), '/home/ada/edge'],
    ...ports.map(([name, port]) => [`:${port}`, `:${USUAL_PORTS[name as keyof DemoPorts]}`] as const),
    [`${local}:localhost`, '8080:localhost'],
    [`:${local}`, ':8080'],
    [/(?<=^\{"data":\[\{"id":").*$/gmu, '…'],
    [/^\S*[$#] exit$/mu, 'ada@this-machine:~$ exit'],
    [/^Linux \d\S*/mu, 'Linux 6.12.0'],
  ];
  const same = replaced.reduce(
    (all, [from, to]) => (typeof from === 'string' ? all.replaceAll(from, to) : all.replace(from, to)),
    text,
  );
  return steadied(same, { url: `http://127.0.0.1:${USUAL_PORTS.api}`, home });
}

test('the demo and every line that it prints show what is recorded, in any directory, without an SSH key', async (t) => {
  t.timeout(hangAfter(WALK_MS_MAX));
  const [home, data] = [temporaryDirectory(t), temporaryDirectory(t)];
  const env = { PATH: PLAIN_PATH, HOME: home };
  const clone = await Terminal.open(t, { env, directory: ROOT });
  await clone.begin(`npm run demo -- --port ${await freePort()} --data ${data}`);
  const said = await clone.says(/Ctrl-C ends everything/u);
  const elsewhere = await Terminal.open(t, { env, directory: home });

  const parts: string[] = [];
  for (const line of said.split('\n').flatMap((one) => (one.startsWith('  ') ? [one.trim()] : [])))
    parts.push(await typed(elsewhere, line));
  await clone.press('C-c');
  const { shown } = await clone.ended();

  const text = kept(
    ['# In the clone', shown, '# In another terminal, in another directory', ...parts, ''].join('\n\n'),
    data,
    home,
  );
  if (process.env[KEEP_VARIABLE] === 'yes') writeFileSync(FILE, `${text.trim()}\n`);
  t.is(`${text.trim()}\n`, readFileSync(FILE, 'utf8'));
});
