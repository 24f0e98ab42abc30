/** Where the demo listens, from one run to the next. */
import { createServer } from 'node:net';
import test from 'ava';
import { freePorts, portsFor, startedOnPorts, type DemoPorts } from '../../../cli/demo/ports.ts';
import { freePort } from '../../support/net/free-ports.ts';
import { listening, takenPort } from '../../support/net/listening.ts';

test('it listens where it did the last time', async (t) => {
  const before = { api: await freePort(), http: await freePort(), socks5: await freePort() };

  t.deepEqual(await portsFor(null, before), before);
});

test('what was taken meanwhile moves, and nothing else', async (t) => {
  const before = { api: await freePort(), http: await takenPort(t), socks5: await freePort() };

  const { http, ...others } = await portsFor(null, before);

  t.deepEqual(others, { api: before.api, socks5: before.socks5 });
  t.not(http, before.http);
});

test('a port that is wanted goes before what is remembered, and nothing else takes it', async (t) => {
  const port = await freePort();

  const ports = await portsFor(port, { api: await freePort(), http: port, socks5: port });

  t.is(ports.api, port);
  t.is(new Set(Object.values(ports)).size, 3);
});

test('a port that is wanted and taken is refused', async (t) => {
  const port = await takenPort(t);

  await t.throwsAsync(portsFor(port, {}), { message: /another program listens there/u });
});

test('free ports are none that the system gives to connections', async (t) => {
  const ports = await freePorts(20);

  t.is(new Set(ports).size, 20);
  t.deepEqual(
    ports.filter((port) => port < 1_024 || port >= 32_768),
    [],
  );
});

test('what another program was faster at is started once more, at other ports', async (t) => {
  const before = { api: await freePort(), http: await freePort(), socks5: await freePort() };
  const tried: DemoPorts[] = [];
  let ended = 0;

  const { ports, started } = await startedOnPorts(
    null,
    before,
    async (own) => {
      tried.push(own);
      if (tried.length > 1) return 'it runs';
      await listening(t, createServer(), '127.0.0.1', own.http); // before the admin does
      throw new Error('another program has it');
    },
    () => {
      ended += 1;
    },
  );

  t.is(started, 'it runs');
  t.deepEqual([tried.length, ended], [2, 1]);
  t.deepEqual([ports.api, ports.socks5], [before.api, before.socks5]);
  t.not(ports.http, before.http);
});

test('what fails for another reason is not started again', async (t) => {
  let starts = 0;
  const start = async () => {
    starts += 1;
    throw new Error('it cannot');
  };

  await t.throwsAsync(
    startedOnPorts(null, { api: await freePort(), http: await freePort(), socks5: await freePort() }, start, () => {}),
    { message: 'it cannot' },
  );
  t.is(starts, 1);
});
