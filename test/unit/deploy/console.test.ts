/** What a browser loads before the first page of the console is there. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { builtAssets, CONSOLE_POLICY } from '../../../api/console/assets.ts';
import { buildConsole } from '../../../deploy/console.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { serveConsole } from '../api/console/fixture.ts';

/** The page, its style and its scripts, as a browser that takes gzip alone gets them, in bytes. */
const FIRST_LOAD_BYTES_MAX = 60 * 1_024;

/** What a page of any build finds at any admin: its name has no hash. */
const BOOT = '/console/boot.js';

test('the first load is small, comes compressed, is kept for good, and names nobody else', async (t) => {
  const directory = temporaryDirectory(t);
  await buildConsole(directory);
  const { ask } = await serveConsole(t, { assets: builtAssets(() => directory) });
  const asked = (path: string, encoding: string) => ask('GET', path, { headers: { 'accept-encoding': encoding } });

  const page = await asked('/console/nodes', 'identity');
  const files = [...page.text.matchAll(/(?:href|src)="(\/[^"]+)"/gu)].map(([, path]) => path ?? '');
  let bytes = readFileSync(join(directory, 'index.html.gz')).length;
  for (const path of files) {
    bytes += readFileSync(`${directory}${path.replace('/console', '')}.gz`).length;
    for (const [encoding, sent] of [
      ['gzip, br', 'br'],
      ['gzip;q=0.5, br;q=0', 'gzip'],
      ['', undefined],
    ] as const) {
      const { status, headers } = await asked(path, encoding);
      t.deepEqual(
        [status, headers['content-encoding'], headers['cache-control'], headers['vary']],
        [200, sent, path === BOOT ? 'no-cache' : 'public, max-age=31536000, immutable', 'accept-encoding'],
        path,
      );
    }
  }
  t.log(`${bytes} bytes in gzip: ${files.join(' ')}`);
  t.is(files[0], BOOT, 'it hears what becomes of all others');
  t.true(files.length >= 3 && bytes <= FIRST_LOAD_BYTES_MAX, `${bytes} bytes`);

  t.is(page.headers['content-security-policy'], CONSOLE_POLICY);
  t.is(page.headers['cache-control'], 'no-cache');
  t.notRegex(page.text, /https?:|<style|style=|<script>|\son\w+=/u);
  const again = await ask('GET', '/console', {
    headers: { 'accept-encoding': 'identity', 'if-none-match': String(page.headers['etag']) },
  });
  t.is(again.status, 304);
  for (const path of ['/console/assets/none.js', '/console/assets/..%2findex.html'])
    t.is((await asked(path, '')).status, 404, path);
});

test('a console that was not built says so, and how it is', async (t) => {
  const { ask } = await serveConsole(t, { assets: builtAssets(() => '/nowhere') });

  const { status, body } = await ask('GET', '/console');

  t.is(status, 503);
  t.regex(body.error?.message ?? '', /npm run build:console/u);
});
