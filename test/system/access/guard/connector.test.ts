/** What is dialled: real requests by undici, real servers, real DNS (R2). */
import { readFile } from 'node:fs/promises';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { Agent, request } from 'undici';
import {
  AddressRefused,
  createGuard,
  NameUnresolved,
  type ConnectorOptions,
  type Guard,
} from '../../../../transport/net/outbound-guard/guard.ts';
import { CONNECT_ATTEMPT_MS_MAX } from '../../../../transport/net/outbound-guard/limits.ts';
import { resolverBy } from '../../../../transport/net/outbound-guard/resolution.ts';
import { certificates } from '../../../support/net/certificates.ts';
import { startBlackHole } from './black-hole.ts';
import { startDnsServer, type Answer, type Question } from '../../../support/net/dns-server.ts';
import { startTripwire } from './tripwire.ts';
import { scaled } from '../../../support/busy.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { listening, silentPort } from '../../../support/net/listening.ts';

async function fixture(
  t: ExecutionContext,
  answer: (question: Question) => Answer | Promise<Answer>,
  { allowPrivate = true, ...connecting }: ConnectorOptions & { allowPrivate?: boolean } = {},
): Promise<{ guard: Guard; agent: Agent; questions: string[] }> {
  const { server, questions } = await startDnsServer(t, answer);
  const guard = createGuard({ allowPrivate, resolve: resolverBy([server]) });
  const agent = new Agent({ connect: guard.connector(connecting) });
  t.teardown(() => agent.destroy());
  return { guard, agent, questions };
}

/** Answers with nothing. */
const empty: RequestListener = (_request, response) => response.writeHead(204).end();

test.serial('a name that turns bad between check and dial is not dialled', async (t) => {
  const tripwire = await startTripwire(t);
  const { guard, agent } = await fixture(
    t,
    ({ asked }) => ({ addresses: [asked === 0 ? '93.184.215.14' : '127.0.0.1'] }),
    {
      allowPrivate: false,
    },
  );
  const url = `http://rebound.example.com:${tripwire.port}/`;

  t.true((await guard.check(url)).ok);
  await t.throwsAsync(request(url, { dispatcher: agent }), {
    instanceOf: AddressRefused,
    code: 'ADDRESS_REFUSED',
    message: 'rebound.example.com resolves to a private or reserved address, which must not be reached.',
  });

  t.deepEqual([tripwire.dialled(), tripwire.arrived], [[], []]);
});

test.serial(
  'a name is asked for once a connection, and the address that was checked is the one that is dialled',
  async (t) => {
    const tripwire = await startTripwire(t);
    const { agent, questions } = await fixture(t, ({ asked }) => ({
      addresses: [asked === 0 ? '127.0.0.2' : '127.0.0.3'],
    }));

    const answer = await request(`http://hooks.example.com:${tripwire.port}/`, { dispatcher: agent });

    t.is(answer.statusCode, 200);
    t.deepEqual(
      [tripwire.dialled(), tripwire.arrived, questions.toSorted()],
      [['127.0.0.2'], ['127.0.0.2'], ['A hooks.example.com', 'AAAA hooks.example.com']],
    );
  },
);

test.serial(
  'a literal address is checked although no name is looked up, also where it was never given to the check',
  async (t) => {
    const tripwire = await startTripwire(t);
    const { agent, questions } = await fixture(t, () => ({ addresses: ['127.0.0.1'] }), { allowPrivate: false });

    for (const host of ['127.0.0.1', '[::1]', '169.254.169.254', '[::ffff:127.0.0.1]', '2130706433']) {
      for (const scheme of ['http', 'https'])
        await t.throwsAsync(request(`${scheme}://${host}:${tripwire.port}/`, { dispatcher: agent }), {
          instanceOf: AddressRefused,
        });
    }

    t.deepEqual([tripwire.dialled(), tripwire.arrived, questions], [[], [], []]);
  },
);

test.serial('a Host header leads nowhere else', async (t) => {
  const tripwire = await startTripwire(t);
  const { agent } = await fixture(t, ({ name }) => ({
    addresses: [name === 'hooks.example.com' ? '127.0.0.2' : '127.0.0.3'],
  }));

  for (const host of ['hooks.example.com', '127.0.0.2'])
    await request(`http://${host}:${tripwire.port}/`, { dispatcher: agent, headers: { host: '127.0.0.3' } });

  t.deepEqual(tripwire.arrived, ['127.0.0.2', '127.0.0.2']);
});

test.serial('a redirect is handed back, not followed', async (t) => {
  const trap = await startTripwire(t);
  const port = await listening(
    t,
    createHttpServer((_request, response) =>
      response.writeHead(307, { location: `http://127.0.0.9:${trap.port}/` }).end(),
    ),
  );
  const { agent } = await fixture(t, () => ({ addresses: ['127.0.0.1'] }));

  const answer = await request(`http://hooks.example.com:${port}/`, { method: 'POST', body: 'x', dispatcher: agent });

  t.deepEqual([answer.statusCode, trap.arrived], [307, []]);
});

test.serial('TLS is for the name of the URL, at the address that was checked', async (t) => {
  const directory = temporaryDirectory(t);
  const paths = await certificates(directory); // for localhost
  const [key, cert, ca] = await Promise.all(
    [paths.serverKey, paths.server, paths.ca].map((path) => readFile(path, 'utf8')),
  );
  const names: (string | false | null)[] = [];
  const port = await listening(
    t,
    createTlsServer({ key, cert }, (socket) => {
      names.push(socket.servername);
      socket.once('data', () => socket.end('HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n'));
    }),
  );
  const { agent } = await fixture(t, () => ({ addresses: ['127.0.0.1'] }), { ...(ca !== undefined && { ca }) });

  const answer = await request(`https://localhost:${port}/`, { dispatcher: agent });
  await t.throwsAsync(request(`https://other.example.com:${port}/`, { dispatcher: agent }), {
    code: 'ERR_TLS_CERT_ALTNAME_INVALID',
  });

  t.deepEqual([answer.statusCode, names[0]], [204, 'localhost']);
});

test.serial('a dead address does not keep from the next one that was checked', async (t) => {
  const port = await listening(t, createHttpServer(empty), '::1');
  const tripwire = await startTripwire(t);
  const { agent } = await fixture(t, () => ({ addresses: ['127.0.0.4', '127.0.0.5', '::1'] }));

  t.is((await request(`http://hooks.example.com:${port}/`, { dispatcher: agent })).statusCode, 204);
  t.deepEqual(new Set(tripwire.dialled()).has('::1'), true);
  t.deepEqual(
    tripwire.dialled().filter((address) => !['127.0.0.4', '127.0.0.5', '::1'].includes(address)),
    [],
  );
});

test.serial('an address that swallows what is sent to it is left for the next one within the limit', async (t) => {
  const port = await listening(t, createHttpServer(empty));
  await startBlackHole(t, '127.0.0.6', port);
  const { agent } = await fixture(t, () => ({ addresses: ['127.0.0.6', '127.0.0.1'] }), { connectMsMax: 30_000 });
  const startedMs = performance.now();

  t.is((await request(`http://hooks.example.com:${port}/`, { dispatcher: agent })).statusCode, 204);
  t.true(
    performance.now() - startedMs >= CONNECT_ATTEMPT_MS_MAX - 50 &&
      performance.now() - startedMs < scaled(CONNECT_ATTEMPT_MS_MAX + 5_000),
  );
});

test.serial('a name that has no address now fails with an error of its own, before anything is sent', async (t) => {
  const { agent } = await fixture(t, () => 'no-such-name');

  await t.throwsAsync(request('http://nowhere.example.com/', { dispatcher: agent }), {
    instanceOf: NameUnresolved,
    code: 'NAME_UNRESOLVED',
    message: 'nowhere.example.com does not resolve.',
  });
});

test.serial('ports of other protocols are not dialled', async (t) => {
  const tripwire = await startTripwire(t);
  const { agent } = await fixture(t, () => ({ addresses: ['127.0.0.1'] }));

  await t.throwsAsync(request('http://hooks.example.com:25/', { dispatcher: agent }), {
    instanceOf: AddressRefused,
    message: 'Port 25 belongs to another protocol than HTTP.',
  });
  t.deepEqual(tripwire.dialled(), []);
});

test.serial('a handshake that never ends is given up at the limit', async (t) => {
  const port = await silentPort(t);
  const { agent } = await fixture(t, () => ({ addresses: ['127.0.0.1'] }), { connectMsMax: 1_000 });

  await t.throwsAsync(request(`https://hooks.example.com:${port}/`, { dispatcher: agent }), {
    code: 'UND_ERR_CONNECT_TIMEOUT',
  });
});

test.serial('a look-up that outlasts the limit for connections ends there', async (t) => {
  const { agent } = await fixture(t, () => 'silence', { connectMsMax: 1_000 });

  await t.throwsAsync(request('http://silent.example.com/', { dispatcher: agent }), {
    code: 'UND_ERR_CONNECT_TIMEOUT',
  });
});
