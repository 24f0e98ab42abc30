/** Requests that do not become whole. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { serveApi } from '../../../support/api/fakes.ts';
import { scaled } from '../../../support/busy.ts';

/** Time that requests have in this test, and how much later they may be ended: they are looked for each second. */
const REQUEST_MS = 500;
const LATE_MS_MAX = 8_000;

for (const [what, begun] of [
  ['head', 'POST /api/v1/commands HTTP/1.1\r\nHost: x\r\n'],
  [
    'body',
    'POST /api/v1/agents/enroll HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
  ],
] as const) {
  test(`a request whose ${what} never ends is ended soon after its time`, async (t) => {
    const { url } = await serveApi(t, { settings: { requestMsMax: REQUEST_MS } });
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    t.teardown(() => {
      socket.destroy();
    });
    await once(socket, 'connect');
    const beganMs = performance.now();

    socket.write(begun);
    const answer = await text(socket);

    t.regex(answer, /^HTTP\/1\.1 503 [^]*\r\nretry-after: /u);
    t.true(performance.now() - beganMs < scaled(LATE_MS_MAX));
  });
}
