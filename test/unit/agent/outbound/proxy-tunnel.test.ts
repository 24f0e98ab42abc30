/** Ways through an HTTP proxy, with proxies that do not behave. */
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { proxyOf } from '../../../../agent/outbound/proxy-choice.ts';
import { PROXY_HEAD_BYTES_MAX, ProxyProblem, throughProxy } from '../../../../agent/outbound/proxy-tunnel.ts';
import { listening } from '../../../support/net/listening.ts';
import { until } from '../../../support/until.ts';

/** A proxy that does with each connection what the test says, and those that it has. */
async function proxyThat(t: ExecutionContext, act: (socket: Socket, asked: string) => void) {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => {}).on('close', () => open.delete(socket));
    socket.once('data', (data: Buffer) => act(socket, data.toString('latin1')));
  });
  const port = await listening(t, server);
  const proxy = proxyOf(`http://user:canary-password@127.0.0.1:${port}`);
  if (proxy === null) throw new Error('no proxy');
  return { proxy, open };
}

const TARGET = { host: 'edge.example', port: 44_000 };

test('it asks by CONNECT with its credentials, and what follows the answer belongs to the stream', async (t) => {
  let asked = '';
  const { proxy } = await proxyThat(t, (socket, text) => {
    asked = text;
    socket.write('HTTP/1.1 200 OK\r\nVia: x\r\n');
    setImmediate(() => socket.write('\r\nfirst words'));
  });

  const stream = await throughProxy(proxy, TARGET);

  t.is(
    asked,
    `CONNECT edge.example:44000 HTTP/1.1\r\nHost: edge.example:44000\r\nProxy-Authorization: Basic ${Buffer.from('user:canary-password').toString('base64')}\r\n\r\n`,
  );
  const [piece] = (await once(stream, 'data')) as [Buffer];
  t.is(piece.toString(), 'first words');
  stream.destroy();
});

for (const [name, answer, problem] of [
  ['refuses', 'HTTP/1.1 403 Forbidden\r\n\r\n', /refused to connect to the admin \(403\)$/u],
  ['wants other credentials', 'HTTP/1.1 407 Proxy Authentication Required\r\n\r\n', /wants other credentials \(407\)/u],
  ['is none', 'SSH-2.0-OpenSSH\r\n\r\n', /does not speak HTTP$/u],
  ['has no end of its head', 'HTTP/1.1 200 OK\r\nx: '.padEnd(2 * PROXY_HEAD_BYTES_MAX, 'a'), /does not speak HTTP$/u],
  ['hangs up', null, /closed the connection without an answer$/u],
] as const)
  test(`a proxy that ${name} is a problem that names it without its credentials, and nothing stays open`, async (t) => {
    const { proxy, open } = await proxyThat(t, (socket) => {
      if (answer === null) socket.destroy();
      else socket.write(answer);
    });

    const error = await t.throwsAsync(throughProxy(proxy, TARGET), { instanceOf: ProxyProblem, message: problem });

    t.regex(error?.message ?? '', /^the proxy http:\/\/127\.0\.0\.1:\d+ /u);
    t.false(error?.message.includes('canary'));
    await until('it is closed', () => open.size === 0);
  });

test('a proxy that says nothing is given up, and so is one that is not there', async (t) => {
  const { proxy, open } = await proxyThat(t, () => {});

  await t.throwsAsync(throughProxy(proxy, TARGET, { msMax: 100 }), { message: /did not answer within 0\.1 s$/u });
  await until('it is closed', () => open.size === 0);
  await t.throwsAsync(throughProxy({ ...proxy, port: 1 }, TARGET), {
    message: /cannot be reached: connection refused$/u,
  });
});
