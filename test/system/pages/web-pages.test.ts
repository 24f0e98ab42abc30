/**
 * Web pages in a real browser, Debian's Chromium, against an admin that asks for no key: what any page could do to an
 * operator who has it open.
 */
import ava, { type ExecutionContext } from 'ava';
import type { Browser, Page } from 'playwright-core';
import type { CommandResource } from '../../../actors/resources/command.ts';
import { startTestAdmin } from '../../support/admin.ts';
import { restClient, type Rest } from '../../support/fleet/rest.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';
import { startBrowser } from '../../support/browser.ts';
import { origin } from '../../support/net/listening.ts';

const test = await peerTest('chromium');
const scope = createScope();
let browser: Browser;
let url: string;
let rest: Rest;

/** A name that somebody else owns and lets point to this machine. */
const STRANGER = 'pages.stranger.example';

test.before(async () => {
  const admin = await startTestAdmin(scope, { ALL_AUTH_ENABLED: 'false' });
  ({ url } = admin);
  rest = restClient(() => url, 'no-key');
  browser = await startBrowser(scope, [
    // Chromium's own guard of local addresses, which other browsers do not have.
    '--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests',
    `--host-resolver-rules=MAP ${STRANGER} 127.0.0.1`,
  ]);
});

ava.after.always('the browser and the admin are ended', () => scope.end());

const COMMAND = { command_text: 'id', targeting: { type: 'all' } };
const commandTexts = async () =>
  (await rest.get<readonly CommandResource[]>('/commands?page_size=100')).map(({ command_text: text }) => text);

/**
 * What a page is asked to do, as the text of a function of the address of the admin. It resolves with what the page
 * learns.
 */
const ATTACKS: readonly (readonly [what: string, script: string])[] = [
  [
    'a WebSocket',
    `(url) => new Promise((resolve) => {
    const socket = new WebSocket(url.replace('http', 'ws') + '/api/trpc');
    socket.onopen = () => socket.send(JSON.stringify({ id: 1, method: 'mutation', params: { path: 'create_command', input: ${JSON.stringify({ ...COMMAND, command_text: 'by a WebSocket' })} } }));
    socket.onmessage = ({ data }) => resolve(data);
    socket.onerror = () => resolve('refused');
  })`,
  ],
  [
    'a POST of JSON',
    `(url) => fetch(url + '/api/v1/commands', { method: 'POST', headers: { 'content-type': 'application/json' }, body: ${JSON.stringify(JSON.stringify({ ...COMMAND, command_text: 'by a POST of JSON' }))} }).then((answer) => answer.text(), () => 'refused')`,
  ],
  [
    'a tool call',
    `(url) => fetch(url + '/mcp', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' }).then((answer) => answer.text(), () => 'refused')`,
  ],
];

/** A page of a stranger, whose server is elsewhere. */
async function strangersPage(t: ExecutionContext): Promise<Page> {
  const { port } = new URL(
    await origin(t, (_request, response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Kittens</p>'),
    ),
  );
  const page = await newPage(t);
  await page.goto(`http://${STRANGER}:${port}/`);
  return page;
}

async function newPage(t: ExecutionContext): Promise<Page> {
  const page = await browser.newPage();
  t.teardown(() => page.close());
  return page;
}

for (const [what, script] of ATTACKS) {
  test(`a page of a stranger does nothing by ${what}`, async (t) => {
    const page = await strangersPage(t);

    t.is(await page.evaluate(`(${script})(${JSON.stringify(url)})`), 'refused');

    t.deepEqual(
      (await commandTexts()).filter((text) => text.startsWith('by ')),
      [],
    );
  });

  test(`a page whose name was made to point to the admin does and learns nothing by ${what}`, async (t) => {
    const page = await newPage(t);
    const there = url.replace('127.0.0.1', STRANGER);
    // The page came before its name pointed to the admin.
    await page.route(`${there}/`, (route) => route.fulfill({ contentType: 'text/html', body: '<p>Kittens</p>' }));
    await page.goto(`${there}/`);

    const learnt = String(await page.evaluate(`(${script})(${JSON.stringify(there)})`));

    t.regex(learnt, /refused|forbidden/u);
    t.is(await page.evaluate(`fetch('/api/v1/nodes').then((answer) => answer.status)`), 403);
    t.deepEqual(
      (await commandTexts()).filter((text) => text.startsWith('by ')),
      [],
    );
  });
}

for (const [what, script] of [
  [
    'a simple request',
    `(url) => fetch(url, { method: 'POST', mode: 'no-cors', headers: { 'content-type': 'text/plain' } }).then(() => 'sent')`,
  ],
  [
    'a form',
    `(url) => new Promise((resolve) => {
    document.body.innerHTML = '<iframe name="there"></iframe><form method="post" enctype="text/plain" target="there"></form>';
    const [form, frame] = [document.querySelector('form'), document.querySelector('iframe')];
    form.action = url;
    frame.onload = () => resolve('sent');
    form.submit();
  })`,
  ],
] as const) {
  test(`a page of a stranger cancels nothing by ${what} that no preflight asks for`, async (t) => {
    const page = await strangersPage(t);
    const answers: number[] = [];
    page.on('response', (answer) => {
      if (answer.url().endsWith('/cancel')) answers.push(answer.status());
    });
    const { id } = await rest.post<CommandResource>('/commands', COMMAND);

    await page.evaluate(`(${script})(${JSON.stringify(`${url}/api/v1/commands/${id}/cancel`)})`);

    t.deepEqual(answers, [403]);
  });
}

test('a page of the admin itself may, by whatever name of this machine it was opened', async (t) => {
  for (const own of [url, url.replace('127.0.0.1', 'localhost')]) {
    const page = await newPage(t);
    await page.route(`${own}/console`, (route) => route.fulfill({ contentType: 'text/html', body: '<p>Console</p>' }));
    await page.goto(`${own}/console`);

    const status = await page.evaluate(
      `fetch('/api/v1/commands', { method: 'POST', headers: { 'content-type': 'application/json' }, body: ${JSON.stringify(JSON.stringify(COMMAND))} }).then((answer) => answer.status)`,
    );

    t.is(status, 201, own);
  }
});
