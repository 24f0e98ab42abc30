/** What the commands that reach nodes are made of: words, targets, quotes, and what a proxy may answer. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { checkProxy, dial } from '../../../../cli/reach/dial.ts';
import { isHostName } from '../../../../cli/reach/host-names.ts';
import { configWord, shellWord } from '../../../../cli/reach/openssh.ts';
import { parsedProxy, proxyFrom, socks5Authority, type Proxy } from '../../../../cli/reach/proxy.ts';
import { cpWordsOf, sshWordsOf } from '../../../../cli/reach/ssh-words.ts';
import { forwardOf, targetOf, targetText, wayTo } from '../../../../cli/reach/stream-targets.ts';
import { EXIT, Problem } from '../../../../cli/problem.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { target } from '../../../support/net/listening.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const withSsh = await peerTest('ssh');

const usage = { instanceOf: Problem, message: /./u };
/** Timeout of a proxy that stays silent, in ms. */
const SILENCE_MS = 50;
const WAY = { username: '_', host: 'web-1.prod.edge.internal', port: 22 };

/** A proxy that does with each connection what is given. */
async function proxyThat(t: ExecutionContext, serve: (socket: Socket) => void): Promise<Proxy> {
  const port = await target(t, serve);
  return { url: `http://127.0.0.1:${port}`, host: '127.0.0.1', port, isTls: false, key: 'a key', told: null };
}

test('words of ssh are told apart as ssh does it: options on both sides of the machine, and the command as it stands', (t) => {
  const words = (text: string) => sshWordsOf(text.split(' '));

  t.deepEqual(words('web-1'), { options: [], user: null, node: 'web-1', command: [] });
  t.deepEqual(words('-vp 22 -oUser=x -l me a@b@web-1 -T -L 1:h:2 -- ls -l -- x'), {
    options: ['-vp', '22', '-oUser=x', '-l', 'me', '-T', '-L', '1:h:2'],
    user: 'a@b',
    node: 'web-1',
    command: ['ls', '-l', '--', 'x'],
  });
  t.deepEqual(words('-p22 web-1 ls -l'), { options: ['-p22'], user: null, node: 'web-1', command: ['ls', '-l'] });
  t.deepEqual(words('-- web-1 -v'), { options: [], user: null, node: 'web-1', command: ['-v'] });
  for (const wrong of ['-v', '-p', '--', '@web-1', 'me@', '--url x web-1']) t.throws(() => words(wrong), usage, wrong);
});

test('words of scp are told apart as scp does it, and one side is on one machine', (t) => {
  const words = (text: string) => cpWordsOf(text.split(' '));
  const local = (path: string) => ({ node: null, user: null, path });

  t.deepEqual(words('-rP 22 a ./b:c /d:e me@web-1:/x:y'), {
    options: ['-rP', '22'],
    node: 'web-1',
    operands: [local('a'), local('./b:c'), local('/d:e'), { node: 'web-1', user: 'me', path: '/x:y' }],
  });
  t.deepEqual(words('web-1: .').operands, [{ node: 'web-1', user: null, path: '' }, local('.')]);
  for (const wrong of ['web-1:a', 'a b', 'web-1:a web-1:b', 'web-1:a b c', 'a:x b:y c', '-r'])
    t.throws(() => words(wrong), usage, wrong);
});

test('targets and forwards are read with names, addresses and brackets, and refused otherwise', (t) => {
  t.deepEqual(['22', 'db.lan:5432', '[fe80::1]:80', '10.0.0.5:1'].map(targetOf), [
    { host: 'localhost', port: 22 },
    { host: 'db.lan', port: 5_432 },
    { host: 'fe80::1', port: 80 },
    { host: '10.0.0.5', port: 1 },
  ]);
  t.deepEqual(forwardOf('8080:localhost:80'), {
    listen: { host: '127.0.0.1', port: 8_080 },
    target: { host: 'localhost', port: 80 },
  });
  t.deepEqual(forwardOf('[::1]:0:[2001:db8::1]:443'), {
    listen: { host: '::1', port: 0 },
    target: { host: '2001:db8::1', port: 443 },
  });
  t.is(targetText({ host: '::1', port: 1 }), '[::1]:1');
  for (const wrong of ['', '0', '65536', ':22', 'a b:22', '::1:22', '[x]:22', '[1.2.3]:22', 'h:22\r\nX: y', 'u@h:22'])
    t.throws(() => targetOf(wrong), usage, wrong);
  for (const wrong of ' 80 80:80 a:b:c 1:h:0 1:h:65536 70000:h:1 1:[::g]:2 x:y:1:h:2 1:h:2:3:4'.split(' '))
    t.throws(() => forwardOf(wrong), usage, wrong);
});

test('loopback is the machine itself, everything else lies behind it', (t) => {
  const way = (host: string) => wayTo('n.c.d', { host, port: 1 });

  t.deepEqual(
    ['localhost', 'LOCALHOST', '127.0.0.1', '::1'].map(way),
    Array.from({ length: 4 }, () => ({ username: '_', host: 'n.c.d', port: 1 })),
  );
  t.deepEqual(
    ['127.0.0.2', '10.0.0.5', 'localhost.lan'].map(way),
    ['127.0.0.2', '10.0.0.5', 'localhost.lan'].map((host) => ({ username: 'n.c.d', host, port: 1 })),
  );
  t.deepEqual(['web-1', 'web-1.prod', 'web-1.prod.edge.internal', 'web-1.prod.internal.', 'a..b.c'].map(isHostName), [
    false,
    false,
    true,
    true,
    false,
  ]);
});

test('the proxy comes from a setting, else from the service; its key never goes in the clear or to a guessed proxy', (t) => {
  const told = { http_port: 43_200, socks5_port: 41_200 };
  const proxy = (url: string, env: Record<string, string> = {}, ports: typeof told | null = told) =>
    proxyFrom({ url, key: 'api' }, { XDG_CONFIG_HOME: '/nonexistent', ...env }, ports);

  for (const [host, written] of [
    ['admin', 'admin'],
    ['::1', '[::1]'],
  ] as const)
    t.deepEqual(proxy(`http://${written}:44000`), {
      url: `http://${written}:43200`,
      host,
      port: 43_200,
      isTls: false,
      key: 'api',
      told,
    });
  t.deepEqual(proxy('https://admin', { EDGE_PROXY_URL: 'https://p.example/', EDGE_PROXY_KEY: 'k' }), {
    url: 'https://p.example',
    host: 'p.example',
    port: 443,
    isTls: true,
    key: 'k',
    told,
  });
  t.throws(() => proxy('https://admin'), { message: /in the clear/u });
  t.throws(() => proxy('http://admin', {}, null), {
    message: /^http:\/\/admin does not say where its proxy is: set /u,
  });
  for (const wrong of 'p:1 ftp://p http://p/x http://p?x http://u@p http://u:hidden@p http://u:hidden@p/x'.split(' '))
    t.false(t.throws(() => parsedProxy(wrong), usage).message.includes('hidden'), wrong);
});

test('the SOCKS5 proxy is where it is said to be, else beside the HTTP proxy where the service says', async (t) => {
  const told = { http_port: 43_200, socks5_port: 41_200 };
  const authority = (url: string, ports: typeof told | null, env: Record<string, string> = {}) =>
    socks5Authority({ ...parsedProxy(url), told: ports }, { url: 'http://[::1]:44000' }, env, async () => told);

  t.deepEqual(
    [
      await authority('http://[::1]:43128', null),
      await authority('http://[::1]:43200', told),
      await authority('http://x', null, { EDGE_SOCKS5_URL: 'socks5h://h:1/' }),
    ],
    ['[::1]:41200', '[::1]:41200', 'h:1'],
  );
  await t.throwsAsync(authority('http://x', null), {
    message: /^nobody says where the SOCKS5 proxy beside http:\/\/x is/u,
  });
});

withSsh('paths survive the quotes of shells and of ssh, whatever is in them', (t) => {
  const directory = temporaryDirectory(t);

  for (const path of [
    '/plain/path',
    '/a b',
    "/it's",
    '/a"b',
    '/back\\slash',
    "/all 'of\\ \"it' $HOME `x` #1 ",
    '/50%h',
  ]) {
    t.is(execFileSync('sh', ['-c', `printf %s ${shellWord(path)}`], { encoding: 'utf8' }), path);
    const file = join(directory, 'config');
    writeFileSync(
      file,
      `Host *\n  ProxyCommand ${shellWord(path).replaceAll('%', '%%')} %h\n  UserKnownHostsFile ${configWord(path)}\n`,
    );
    const shown = execFileSync('ssh', ['-G', '-F', file, 'host'], { encoding: 'utf8', stdio: 'pipe' });
    t.true(shown.includes(`\nproxycommand ${shellWord(path).replaceAll('%', '%%')} %h\n`), shown);
    t.true(shown.includes(`\nuserknownhostsfile ${path}\n`), shown);
  }
  t.throws(() => shellWord('/a\nb'), usage);
});

test('a stream begins after the head of the answer, in however many pieces that comes', async (t) => {
  let asked = '';
  const proxy = await proxyThat(t, (socket) => {
    const say = ([piece, ...more]: readonly string[]): void => {
      socket.write(piece ?? '', () => setImmediate(() => (more.length > 0 ? say(more) : socket.end())));
    };
    socket
      .on('data', (chunk: Buffer) => {
        asked += chunk.toString();
      })
      .once('data', () => say(['HT', 'TP/1.1 200 ', 'OK\r\nX: y\r\n', '\r', '\nfirst ', 'words']));
  });

  const socket = await dial(proxy, WAY);

  t.is(await text(socket), 'first words');
  t.true(socket.writable, 'it may still say something');
  socket.destroy();
  t.is(
    asked,
    `CONNECT web-1.prod.edge.internal:22 HTTP/1.1\r\nHost: web-1.prod.edge.internal:22\r\nProxy-Authorization: Basic ${Buffer.from('_:a key').toString('base64')}\r\n\r\n`,
  );
});

test('what a proxy answers is told in one line, whatever it is', async (t) => {
  const cases: readonly (readonly [answer: string, status: number, line: RegExp])[] = [
    ['HTTP/1.1 503 X\r\nContent-Length: 9\r\n\r\nNot here.', EXIT.failed, /^Not here\.$/u],
    [
      'HTTP/1.1 502 X\r\nProxy-Status: edge; error=destination_not_found\r\nContent-Length: 5\r\n\r\nNone.',
      EXIT.notFound,
      /^None\.$/u,
    ],
    ['HTTP/1.1 407 X\r\nContent-Length: 0\r\n\r\n', EXIT.auth, /does not accept this key/u],
    ['HTTP/1.1 429 X\r\n\r\n', EXIT.auth, /too many wrong keys/u],
    ['HTTP/1.1 500 X\r\n\r\n', EXIT.failed, /refused with 500$/u],
    [
      `HTTP/1.1 502 X\r\n\r\n\u001b[2Jred\nand more\u0007${'x'.repeat(9_000)}`,
      EXIT.failed,
      /^\[2Jred and more x{480,}$/u,
    ],
    ['SSH-2.0-OpenSSH\r\n', EXIT.failed, /is no HTTP proxy/u],
    [`HTTP/1.1 200 OK\r\n${'X: y\r\n'.repeat(5_000)}`, EXIT.failed, /is no HTTP proxy/u],
    ['HTTP/1.1 2000\r\n\r\n'.replace('2000', 'ok'), EXIT.failed, /is no HTTP proxy/u],
    ['', EXIT.failed, /closed the connection without an answer/u],
    ['HTTP/1.1 200', EXIT.failed, /closed the connection without an answer/u],
  ];

  for (const [answer, status, line] of cases) {
    const proxy = await proxyThat(t, (socket) => {
      socket.once('data', () => socket.end(answer));
    });
    const problem = await t.throwsAsync(dial(proxy, WAY), { instanceOf: Problem }, answer.slice(0, 40));
    t.is(problem?.status, status as never, answer.slice(0, 40));
    t.regex(problem?.message ?? '', line);
  }
});

test('a dial that is no longer wanted ends, and its connection with it', async (t) => {
  const closed: Promise<unknown>[] = [];
  const proxy = await proxyThat(t, (socket) => {
    closed.push(once(socket, 'close'));
    socket.resume().on('end', () => socket.end());
  });
  const gone = new AbortController();
  const dialling = dial(proxy, WAY, gone.signal);
  await new Promise((resolve) => {
    setImmediate(resolve);
  });

  gone.abort();

  await t.throwsAsync(dialling, { message: 'given up' });
  await Promise.all(closed);
});

test('a check of the proxy reaches no machine, and minds only the key', async (t) => {
  let asked = '';
  const proxyWith = (status: number) =>
    proxyThat(t, (socket) => {
      socket.once('data', (chunk: Buffer) => {
        asked = chunk.toString();
        socket.end(`HTTP/1.1 ${status} X\r\nContent-Length: 0\r\n\r\n`);
      });
    });

  await checkProxy(await proxyWith(400), 'n.c.d');

  t.regex(asked, /^CONNECT n\.c\.d:0 HTTP/u);
  await t.throwsAsync(checkProxy(await proxyWith(407), 'n.c.d'), { message: /does not accept this key/u });
});

test('a proxy that takes the connection and says nothing is given up', async (t) => {
  const proxy = await proxyThat(t, (socket) => socket.resume());
  const problem = { instanceOf: Problem, message: `the proxy ${proxy.url} does not answer: try again shortly` };

  await t.throwsAsync(checkProxy(proxy, 'n.c.d', SILENCE_MS), problem);
  await t.throwsAsync(dial(proxy, WAY, undefined, SILENCE_MS), problem);
});
