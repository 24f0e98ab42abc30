/** The guide pages: whole, safe, leading nowhere else, and hidden together with all documentation. */
import { createHash } from 'node:crypto';
import test from 'ava';
import { AGENT_SETTINGS } from '../../../../agent/config.ts';
import { GUIDE_PAGES } from '../../../../api/docs/guide/pages.ts';
import { shellWord } from '../../../../api/docs/guide/page.ts';
import { catalogue } from '../../../../api/catalogue.ts';
import { ADMIN_SETTINGS } from '../../../../settings/admin.ts';
import { settingsMarkdown } from '../../../../settings/environment.ts';
import { serveApi } from '../../../support/api/fakes.ts';

const GUIDES = [
  '/',
  '/guide/clusters',
  '/guide/nodes',
  '/guide/commands',
  '/guide/proxy',
  '/guide/ssh',
  '/guide/metrics',
  '/guide/events',
  '/guide/integrators',
];
const DOCUMENTATION = [
  ...GUIDES,
  '/api/docs',
  '/api/openapi',
  '/asyncdoc',
  '/api/asyncapi',
  '/asyncdoc/viewer',
  '/asyncdoc/viewer/viewer.js',
  '/asyncdoc/viewer/viewer.css',
  '/asyncdoc/viewer/start.js',
];
const PAGES = [...GUIDES, '/api/docs', '/asyncdoc'];

const PROXIES = () => ({ http: 43_128, socks5: 41_080 });

async function pageAt(url: string, path: string): Promise<string> {
  const response = await fetch(url + path);
  if (response.status !== 200) throw new Error(`${path} answered ${response.status}`);
  return response.text();
}

test('there is a page at each path of the specification', (t) => {
  t.deepEqual(Object.keys(GUIDE_PAGES), GUIDES);
});

test('API_DOCS_ENABLED=false hides every documentation route, in the normal form of errors', async (t) => {
  const { request } = await serveApi(t, { settings: { docsEnabled: false } });

  for (const path of DOCUMENTATION) {
    const { status, body, headers } = await request('GET', path);
    t.deepEqual(
      [path, status, body?.error, headers.get('content-type')],
      [path, 404, { code: 'not_found', message: 'No such route.', details: null }, 'application/json; charset=utf-8'],
    );
    t.is(body?.meta?.request_id, headers.get('x-request-id') ?? '');
  }
  t.is((await request('GET', '/livez')).status, 200);
});

test('no page needs a key, or loads or sends anything, and the one script of guides is named by its digest', async (t) => {
  const { url } = await serveApi(t, { settings: { proxyPorts: PROXIES } });

  for (const path of PAGES) {
    const response = await fetch(url + path);
    const html = await response.text();
    t.deepEqual(
      [response.status, response.headers.get('content-type'), response.headers.get('cache-control')],
      [200, 'text/html; charset=utf-8', 'no-store'],
      path,
    );
    t.regex(
      response.headers.get('content-security-policy') ?? '',
      /default-src 'none'; style-src 'unsafe-inline'; img-src data:;/u,
    );
    const scripts = [...html.matchAll(/<script\b(?<attributes>[^>]*)>(?<text>.*?)<\/script>/gsu)].map(({ groups }) => [
      groups?.['attributes'],
      `'sha256-${createHash('sha256')
        .update(groups?.['text'] ?? '')
        .digest('base64')}'`,
    ]);
    const [, source] = /script-src (?<source>[^;]*)/u.exec(response.headers.get('content-security-policy') ?? '') ?? [];
    t.deepEqual(scripts, source === undefined ? [] : [['', source]], path);
    t.is(source !== undefined, GUIDES.includes(path), path);
    t.notRegex(
      html.replaceAll(/<script>.*?<\/script>/gsu, ''),
      /<(?:script|iframe|object|embed|form|img|base)\b|\s(?:src|srcset|action|style|on\w+)=(?!"margin-top:0"|"font:inherit")|@import|url\(/iu,
      path,
    );
    t.deepEqual(
      [...html.matchAll(/<link\b[^>]*>/gu)].map(([tag]) => tag),
      ['<link rel="icon" href="data:,">'],
      path,
    );
  }
});

test('every link of every page leads to something, and every anchor to a place on its page', async (t) => {
  const { url } = await serveApi(t);
  const ids = new Map<string, ReadonlySet<string>>();
  const links = new Set<string>();

  for (const path of PAGES) {
    const html = await pageAt(url, path);
    const found = [...html.matchAll(/\sid="(?<id>[^"]+)"/gu)].map(({ groups }) => groups?.['id'] ?? '');
    t.is(new Set(found).size, found.length, `${path} has an id twice`);
    ids.set(path, new Set(found));
    for (const { groups } of html.matchAll(/<a\b[^>]*\shref="(?<href>[^"]*)"/gu))
      links.add(new URL(groups?.['href'] ?? '', url + path).href);
  }

  for (const href of links) {
    const { origin, pathname, hash } = new URL(href);
    t.is(origin, url, href);
    t.is((await fetch(origin + pathname)).status, 200, href);
    if (hash !== '') t.true(ids.get(pathname)?.has(decodeURIComponent(hash.slice(1))), href);
  }
  for (const path of PAGES) t.true(links.has(new URL(path, url).href), `nothing leads to ${path}`);
});

test('each page has its own title, says where one is, and names its operations as the catalogue has them', async (t) => {
  const { url } = await serveApi(t);
  const titles = new Set<string>();
  const linked = new Set<string>();

  for (const path of PAGES) {
    const html = await pageAt(url, path);
    titles.add(/<title>(?<title>[^<]+)<\/title>/u.exec(html)?.groups?.['title'] ?? '');
    t.regex(html, new RegExp(`<a (?:class="brand" )?href="${path}" aria-current="page">`, 'u'));
    // one is a rule of the style
    t.is([...html.matchAll(/aria-current/gu)].length, 2 - Number(!html.includes('[aria-current]')), path);
    for (const [, name] of html.matchAll(/href="\/api\/docs#(?<name>[a-z_]+)"><code>/gu)) linked.add(name ?? '');
  }

  t.is(titles.size, PAGES.length);
  // Admins of a service, its overview, and who is signed in to its console, are looked at in the reference alone.
  const told = Object.values(catalogue)
    .filter(
      ({ rest }) =>
        rest !== null && (!/^\/(?:admins|console|overview)/u.test(rest.path) || rest.path.includes('/metrics')),
    )
    .map(({ name }) => name);
  t.deepEqual([...linked].toSorted(), told.toSorted());
});

test('settings are those of the programs, with their defaults', async (t) => {
  const { url } = await serveApi(t);
  const rows = {
    'edge-admin': defaults(settingsMarkdown(ADMIN_SETTINGS)),
    'edge-agent': defaults(settingsMarkdown(AGENT_SETTINGS)),
  };
  let told = 0;

  for (const path of GUIDES) {
    const html = await pageAt(url, path);
    for (const { groups } of html.matchAll(
      /<code data-setting="(?<program>[^"]+)">(?<name>[^<]+)<\/code> <span class="default">(?<fallback>.*?)<\/span>/gu,
    )) {
      const { program = '', name = '', fallback = '' } = groups ?? {};
      t.is(
        fallback.replaceAll(/<\/?code>/gu, '`'),
        rows[program as keyof typeof rows].get(name) ?? `${program} has no setting ${name}`,
        `${path}: ${name}`,
      );
      told += 1;
    }
    // Whatever looks like a setting is one of either program, of edge, or a variable of a command on the page.
    for (const [, word = ''] of html
      .replaceAll(/<pre.*?<\/pre>/gsu, '')
      .matchAll(/<code>(?<word>[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?:=[^<]*)?<\/code>/gu)) {
      t.true(
        rows['edge-admin'].has(word) || rows['edge-agent'].has(word) || word.endsWith('_FILE') || word === 'EDGE_URL',
        `${path}: ${word}`,
      );
    }
  }
  t.true(told > 30);
});

/** Name of a setting → what docs/settings.md says of its default. */
function defaults(markdown: string): ReadonlyMap<string, string> {
  return new Map(
    [...markdown.matchAll(/^\| `(?<name>[^`]+)` \| (?<fallback>.*?) \|/gmu)].map(({ groups }) => [
      groups?.['name'] ?? '',
      groups?.['fallback'] ?? '',
    ]),
  );
}

test('commands name the URL that the operator gave, whatever the request says', async (t) => {
  const { url } = await serveApi(t, { operations: { adminUrls: ['https://fleet.example', 'https://other.example'] } });

  const html = await (
    await fetch(`${url}/guide/proxy`, {
      headers: { 'x-forwarded-host': 'evil.example', forwarded: 'host=evil.example' },
    })
  ).text();

  t.true(html.includes('export EDGE_URL=https://fleet.example\n'));
  t.true(html.includes('export EDGE_PROXY_URL=https://fleet.example:43128\n'));
  t.false(html.includes('evil'));
});

test('what an operator writes stays text of the page, and one word of the shell', async (t) => {
  const { url } = await serveApi(t, {
    operations: { adminUrls: ["http://a'$(id)<script>alert(1)</script>/"], vpnDomain: 'edge.internal' },
  });

  const html = await pageAt(url, '/');

  t.notRegex(html, /<script>alert/u);
  t.is(html.split('<script').length, 2);
  t.true(html.includes(String.raw`export EDGE_URL='http://a'\''$(id)&lt;script&gt;alert(1)&lt;/script&gt;/'`));
  t.is(shellWord('http://[::1]:44000'), "'http://[::1]:44000'");
  t.is(shellWord('http://10.0.0.1:44000'), 'http://10.0.0.1:44000');
});

test('the start page says how this admin is, and how to go on, to whoever has no key', async (t) => {
  const well = await pageAt((await serveApi(t)).url, '/');
  const failing = { name: 'broker', healthy: false, duration_ms: 1, error: 'no <answer>' };
  const ill = await serveApi(t, {
    ports: { checkHealth: async () => [{ name: 'database', healthy: true, duration_ms: 1, error: null }, failing] },
  });

  t.regex(well, /<p class="state well">It is well: <a href="\/healthz">all 1 checks<\/a> pass\.<\/p>/u);
  t.regex(well, /It runs version 0\.0\.0-test\./u);
  for (const anchor of ['programs', 'where-the-admin-is', 'a-first-machine'])
    t.regex(
      /<section aria-labelledby="this-admin">.*?<\/section>/su.exec(well)?.[0] ?? '',
      new RegExp(`#${anchor}"`, 'u'),
    );
  t.regex(
    await pageAt(ill.url, '/'),
    /<p class="state ill">It is not well: 1 of <a href="\/healthz">2 checks<\/a> fails\.<\/p><ul><li><code>broker<\/code>: no &lt;answer&gt;<\/li><\/ul>/u,
  );
});

test('checks that hang do not keep anybody from the start page, and other pages do not run them', async (t) => {
  let asked = 0;
  const checkHealth = () => {
    asked += 1;
    return new Promise<never>(() => {});
  };
  const { url } = await serveApi(t, { ports: { checkHealth } });

  await pageAt(url, '/guide/clusters');
  t.is(asked, 0);
  t.regex(await pageAt(url, '/'), /<p class="state">Its checks take their time\./u);
  t.is(asked, 1);
});

test('every box of commands and every file has a button that says what it copies, and waits for the script', async (t) => {
  const { url } = await serveApi(t);
  let boxes = 0;

  for (const path of GUIDES) {
    const html = await pageAt(url, path);
    const captions = [...html.matchAll(/<figure class="shell.*?<\/figcaption>/gsu)].map(([caption]) => caption);
    for (const caption of captions)
      t.regex(caption, /<button type="button" class="copy" hidden aria-label="Copy [^"\n]{3,}">Copy<\/button>/u, path);
    boxes += captions.length;
  }
  t.true(boxes > 50, `${boxes}`);
});

test('an admin without proxies says so', async (t) => {
  const without = await serveApi(t);
  const other = await serveApi(t, { settings: { proxyPorts: () => ({ http: 8118, socks5: 1080 }) } });

  t.true((await pageAt(without.url, '/guide/proxy')).includes('This admin has no proxies now'));
  const html = await pageAt(other.url, '/guide/proxy');
  t.false(html.includes('no proxies now'));
  t.regex(html, /EDGE_PROXY_URL=\S+:8118\b/u);
  t.regex(html, /--socks5-hostname \S+:1080\b/u);
});
