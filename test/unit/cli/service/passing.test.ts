/** What passes by itself of what a call gets that the service did not answer: all else is asked once. */
import { createServer } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import { createClient } from '../../../../cli/service/client.ts';
import { isPassing, problemOf, reasonOf } from '../../../../cli/problem.ts';
import { idOf } from '../../../support/api/rows.ts';
import { listening } from '../../../support/net/listening.ts';

const PAGE = '<html>blocked by policy</html>';
const JSON_OF_OTHERS = '{"message":"no route matches"}';

/** What a read and a change fail with where somebody on the path answers this to each. */
async function failures(t: ExecutionContext, status: number, body: string) {
  const server = createServer((_request, response) => response.writeHead(status).end(body));
  const url = `http://127.0.0.1:${await listening(t, server)}`;
  const api = createClient({ url, key: null });
  const id = idOf(0);
  return {
    url,
    read: await t.throwsAsync<Error>(api.get_command.query({ id })),
    change: await t.throwsAsync<Error>(api.cancel_command.mutate({ id })),
  };
}

for (const body of [PAGE, JSON_OF_OTHERS])
  test(`only what a gateway says of a service that is away, or of too many calls, passes: ${body}`, async (t) => {
    for (const [status, passes] of [
      [200, false],
      [403, false],
      [404, false],
      [413, false],
      [429, true],
      [500, false],
      [502, true],
      [503, true],
      [504, true],
      [522, true],
    ] as const) {
      const { read, change } = await failures(t, status, body);

      t.deepEqual([isPassing(read), isPassing(change)], [passes, passes], String(status));
    }
  });

test('a page in place of an answer is told by its status', async (t) => {
  const { url, read } = await failures(t, 403, PAGE);

  t.is(reasonOf(read), 'HTTP 403 without JSON');
  t.is(
    problemOf(read, { url, key: null }).message,
    `what answers at ${url} is not this service: check EDGE_URL or --url`,
  );
});

test('where nobody answers, it passes', async (t) => {
  const port = await listening(
    t,
    createServer((request) => request.destroy()),
  );
  const api = createClient({ url: `http://127.0.0.1:${port}`, key: null });

  t.true(isPassing(await t.throwsAsync<Error>(api.get_command.query({ id: idOf(0) }))));
});
